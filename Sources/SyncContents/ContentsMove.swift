import CampanileBase
import CampanileCrypto
package import CampanileStore

/// Copies the files of contents and of unfinished uploads when a database is moved: between a folder and a database on
/// a server, or two of a kind.
///
/// Skips contents that the target already has, so that an interrupted move can be repeated. Each copy is read back and
/// verified. Blocks.
package struct ContentsMove {
  /// One side of the move: a connection to its database, and the folder of contents unless that is on a server.
  package struct Side {
    let connection: any StoreConnection
    let folder: String?

    package init(_ connection: any StoreConnection, folder: String) {
      self.connection = connection
      self.folder = connection.dialect == .sqlite ? folder : nil
    }
  }

  private static let uploadsSQL = "SELECT id FROM uploads WHERE facts_json IS NULL"

  private let source: ContentFileAccess
  private let target: ContentFileAccess
  private let transaction: ReadTransaction

  /// - Returns: What was copied. Damaged and missing contents are left out, and named.
  package static func run(from source: Side, to target: Side) throws -> ContentsBackup.Report {
    let move = ContentsMove(
      source: ContentFileAccess(source), target: ContentFileAccess(target),
      transaction: ReadTransaction(source.connection, .reading))
    defer { move.transaction.invalidate() }
    return try move.run()
  }

  private func run() throws -> ContentsBackup.Report {
    var report = ContentsBackup.Report(folder: target.folder ?? "")
    if let folder = target.folder { try ContentFiles.makeFolders(in: folder) }
    try ContentFiles.forEachContent(in: transaction) { digest, sizeBytes in
      do {
        report.sizeBytes += try copy(digest, sizeBytes: sizeBytes)
        report.contentCount += 1
      } catch let error as RPCError where error.code == .dataLoss {
        try target.remove(.content(digest))
        report.addDamaged(digest)
      }
    }
    // The service limits the number of uploads to that of a query's rows.
    for id in try transaction.query(Self.uploadsSQL, [], { try $0.text(0) }) {
      guard let file = try source.open(.upload(id)) else { continue }
      let copy = try target.create(.upload(id))
      _ = try ContentsBackup.copyBytes(of: file, to: copy)
      try copy.sync()
    }
    if let folder = target.folder {
      for path in ContentFiles.contentFolders(in: folder) + ["\(folder)/uploads"] { try DiskFile.syncFolder(path) }
    }
    return report
  }

  private func copy(_ digest: SHA256Digest, sizeBytes: Int64) throws -> Int64 {
    if let known = try target.open(.content(digest)),
      (try? ContentReader(known, digest: digest, sizeBytes: sizeBytes).wholeDigest()) == digest
    {
      return try known.sizeBytes()
    }
    let original: any ContentBytes
    if let file = try source.open(.content(digest)) {
      original = file
    } else {
      guard let file = try ContentFiles.journaled(digest, in: transaction) else { throw RPCError.contentDamaged }
      original = MemoryBytes(bytes: file)
    }
    return try ContentsBackup.copy(original, to: try target.create(.content(digest)), digest, sizeBytes: sizeBytes)
  }
}

/// Opens and creates files of contents in a folder or in a database.
private struct ContentFileAccess {
  enum Name {
    case content(SHA256Digest)
    case upload(String)
  }

  let folder: String?
  private let chunks: ConnectedChunks

  init(_ side: ContentsMove.Side) {
    folder = side.folder
    chunks = ConnectedChunks(connection: side.connection)
  }

  func open(_ name: Name) throws -> (any ContentBytes)? {
    if let folder { return try DiskFile.openToRead(path(name, folder)) }
    return try ChunkFile.open(chunkName(name), in: chunks)
  }

  func create(_ name: Name) throws -> any ContentFile {
    guard let folder else { return try ChunkFile.create(chunkName(name), in: chunks) }
    DiskFile.remove(path(name, folder))
    return try DiskFile.create(path(name, folder))
  }

  func remove(_ name: Name) throws {
    if let folder { DiskFile.remove(path(name, folder)) } else { _ = try create(name) }
  }

  private func path(_ name: Name, _ folder: String) -> String {
    switch name {
    case .content(let digest): ContentFiles.path(of: digest, in: folder)
    case .upload(let id): "\(folder)/uploads/\(id)"
    }
  }

  private func chunkName(_ name: Name) -> String {
    switch name {
    case .content(let digest): digest.hexadecimal
    case .upload(let id): id
    }
  }
}

/// The chunks of a database that is moved.
private struct ConnectedChunks: ChunkAccess {
  let connection: any StoreConnection

  func query<T>(_ sql: String, _ arguments: [SQLValue], _ map: (borrowing SQLRow) throws -> T) throws -> T? {
    var found: T?
    try connection.forEachRow(sql, arguments, allowed: .reading) { row in
      found = try map(row)
      return false
    }
    return found
  }

  func change(_ statements: [(sql: String, arguments: [SQLValue])]) throws {
    try connection.beginWriting()
    for statement in statements { try connection.execute(statement.sql, statement.arguments) }
    try connection.commit()
  }
}
