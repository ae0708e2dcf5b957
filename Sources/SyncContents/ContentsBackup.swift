import CampanileBase
import CampanileCrypto
import CampanileStore

/// Copies the contents referenced by a copy of `sync.sqlite`, so that both together are one state of the service.
///
/// Run it after the database was copied; the service keeps running. Content files never change, and a content that the
/// copy references is not removed within an hour. A content without a file is in the journal of the copied database.
/// Each copy is read back and verified against its SHA-256, block by block and as a whole.
public struct ContentsBackup: Sendable {
  /// The result of a copy or verification.
  public struct Report: Sendable, Hashable {
    public var folder: String
    public var contentCount = 0
    /// The total size of the files.
    public var sizeBytes: Int64 = 0
    /// The names of missing or damaged contents, the first 100. All others are copied.
    public var damaged: [String] = []
    public var damagedCount = 0

    mutating func addDamaged(_ digest: SHA256Digest) {
      damagedCount += 1
      if damaged.count < ContentsBackup.damagedMax { damaged.append(digest.hexadecimal) }
    }
  }

  fileprivate static let damagedMax = 100
  private static let pieceBytes = 1 << 20

  /// The path of the database's copy.
  let database: String
  /// The service's contents folder.
  let source: String
  /// The new folder, with the layout of the service's.
  let target: String

  /// Copies all contents. Blocks until they are on disk; checks for cancellation between two contents.
  ///
  /// - Throws: `StoreError` for the database; `RPCError` for the disk: UNAVAILABLE, or RESOURCE_EXHAUSTED if it is
  ///   full.
  public static func run(database: String, from source: String, to target: String) throws -> Report {
    try ContentsBackup(database: database, source: source, target: target).run()
  }

  /// Verifies every content that a copy of the database references, in the folder of its copies. Changes nothing.
  ///
  /// - Throws: `StoreError` for the database; `RPCError` UNAVAILABLE for the disk.
  public static func verify(database: String, folder: String) throws -> Report {
    let backup = ContentsBackup(database: database, source: folder, target: "")
    var report = Report(folder: folder)
    try backup.forEachContent { _, digest, sizeBytes in
      do {
        guard let file = try DiskFile.openToRead(ContentFiles.path(of: digest, in: folder)) else {
          throw RPCError.contentDamaged
        }
        guard try ContentReader(file, digest: digest, sizeBytes: sizeBytes).wholeDigest() == digest else {
          throw RPCError.contentDamaged
        }
        report.sizeBytes += try file.sizeBytes()
        report.contentCount += 1
      } catch let error as RPCError where error.code == .dataLoss {
        report.addDamaged(digest)
      }
    }
    return report
  }

  private func run() throws -> Report {
    try DiskFile.makeNewFolder(target)
    for name in ["contents", "uploads"] { try DiskFile.makeFolder("\(target)/\(name)") }
    var report = Report(folder: target)
    var folders: Set<String> = []
    try forEachContent { transaction, digest, sizeBytes in
      try copy(digest, sizeBytes: sizeBytes, transaction, &report, &folders)
    }
    for folder in folders.sorted() + ["\(target)/contents", target] { try DiskFile.syncFolder(folder) }
    return report
  }

  private func forEachContent(_ body: (ReadTransaction, SHA256Digest, Int64) throws -> Void) throws {
    try Store.readFile(path: database) { transaction in
      try ContentFiles.forEachContent(in: transaction) { digest, sizeBytes in
        try Task.checkCancellation()
        try body(transaction, digest, sizeBytes)
      }
    }
  }

  private func copy(
    _ digest: SHA256Digest, sizeBytes: Int64, _ transaction: ReadTransaction, _ report: inout Report,
    _ folders: inout Set<String>
  ) throws {
    let path = ContentFiles.path(of: digest, in: target)
    let folder = String(path.dropLast(digest.hexadecimal.utf8.count + 1))
    if folders.insert(folder).inserted { try DiskFile.makeFolder(folder) }
    do {
      let original: any ContentBytes
      if let file = try DiskFile.openToRead(ContentFiles.path(of: digest, in: source)) {
        original = file
      } else {
        guard let file = try ContentFiles.journaled(digest, in: transaction) else { throw RPCError.contentDamaged }
        original = MemoryBytes(bytes: file)
      }
      report.sizeBytes += try Self.copy(original, to: try DiskFile.create(path), digest, sizeBytes: sizeBytes)
      report.contentCount += 1
    } catch let error as RPCError where error.code == .dataLoss {
      DiskFile.remove(path)
      report.addDamaged(digest)
    }
  }

  /// Copies one content and returns the size of its file. Throws DATA_LOSS if it is damaged.
  static func copy(
    _ original: any ContentBytes, to copy: any ContentFile, _ digest: SHA256Digest, sizeBytes: Int64
  ) throws -> Int64 {
    let copiedBytes = try copyBytes(of: original, to: copy)
    // Verify the copy, not the original.
    let reader = try ContentReader(copy, digest: digest, sizeBytes: sizeBytes)
    guard try reader.wholeDigest() == digest else { throw RPCError.contentDamaged }
    try copy.sync()
    return copiedBytes
  }

  /// Copies all bytes and returns their number.
  static func copyBytes(of original: any ContentBytes, to copy: any ContentFile) throws -> Int64 {
    var offset: Int64 = 0
    var piece = [UInt8](repeating: 0, count: pieceBytes)
    while true {
      let count = try piece.withUnsafeMutableBytes { buffer in
        let count = try original.read(buffer, at: offset)
        try copy.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset)
        return count
      }
      offset += Int64(count)
      if count < pieceBytes { return offset }
    }
  }
}
