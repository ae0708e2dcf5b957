internal import CampanileCrypto
internal import CampanileStore
internal import Foundation
internal import SyncContents

/// Verifies a backup: the hashes of its files, SQLite's integrity check of databases, and the hash of every content.
struct BackupCheck {
  let manifest: BackupManifest
  let folder: String

  /// Returns one line for each fault; empty if the backup is intact.
  func faults() -> [String] {
    var faults: [String] = []
    for file in manifest.files {
      do {
        try Self.check(file, at: folder + "/" + file.name)
      } catch {
        faults.append("\(file.name): \(error)")
      }
    }
    for contents in manifest.contents where !faults.contains(where: { $0.hasPrefix(contents.database) }) {
      do {
        let report = try ContentsBackup.verify(
          database: "\(folder)/\(contents.database)", folder: "\(folder)/\(contents.name)")
        if report.damagedCount > 0 {
          let names = report.damaged.prefix(10).joined(separator: " ")
          faults.append("\(contents.name): \(report.damagedCount) contents are missing or damaged: \(names)")
        }
      } catch {
        faults.append("\(contents.name): \(error)")
      }
    }
    return faults
  }

  /// Verifies the file at `path` against its entry in the manifest, and the integrity of a database.
  ///
  /// - Throws: `UsageError` if the file cannot be read, or its size or hash differs; `StoreError` if the database is
  ///   damaged.
  static func check(_ file: BackupManifest.File, at path: String) throws {
    let (sha256, sizeBytes) = try FileDigest.of(path)
    guard sizeBytes == file.sizeBytes else {
      throw UsageError("has \(sizeBytes) bytes instead of \(file.sizeBytes)")
    }
    guard sha256 == file.sha256 else { throw UsageError("does not match the hash in the manifest") }
    if file.name.hasSuffix(".sqlite") { try Store.checkFile(path: path) }
  }
}

/// The SHA-256 of a file, computed incrementally.
enum FileDigest {
  private static let pieceBytes = 1 << 20

  /// Returns the hash in lower-case hexadecimal, and the size.
  ///
  /// - Parameter copy: Receives the bytes of the file, if not nil.
  static func of(_ path: String, copyTo copy: FileHandle? = nil) throws -> (sha256: String, sizeBytes: Int64) {
    guard let source = FileHandle(forReadingAtPath: path) else { throw UsageError("cannot be read") }
    defer { try? source.close() }
    let hasher = try SHA256Hasher()
    var sizeBytes: Int64 = 0
    while let piece = try source.read(upToCount: pieceBytes), !piece.isEmpty {
      try piece.withUnsafeBytes { try hasher.update($0) }
      try copy?.write(contentsOf: piece)
      sizeBytes += Int64(piece.count)
    }
    return (try hasher.digest().hexadecimal, sizeBytes)
  }
}
