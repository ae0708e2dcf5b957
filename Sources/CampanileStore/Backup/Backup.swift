import CampanileCrypto
import GRDB

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Copies a live database into a new file with SQLite's backup API.
///
/// The source is read through a separate connection that holds one snapshot. Writers continue, and their commits do not
/// restart the copy. The write-ahead log cannot be truncated until the copy ends.
struct Backup {
  /// Number of pages copied between two checks for cancellation.
  static let stepPages: Int32 = 256

  let factory: ConnectionFactory
  let target: String
  /// Called between two steps.
  let isCancelled: @Sendable () -> Bool

  /// Copies the database. Blocks until the copy is complete, verified, synced and named.
  ///
  /// - Throws: `alreadyExists` if the target exists, `interrupted` after a cancellation, `diskFull`, `unavailable` or
  ///   `corrupt`. No target is left behind then.
  func run() throws(StoreError) -> BackupReport {
    guard !DatabaseFile.exists(target) else {
      throw StoreError(.alreadyExists, "the target of a backup must not exist", path: target)
    }
    let partial = "\(target).partial-\(getpid())-\(UInt32.random(in: .min ... .max))"
    let descriptor = open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw DatabaseFile.failure("create", partial) }
    close(descriptor)
    defer { for suffix in ["", "-journal", "-wal", "-shm"] { unlink(partial + suffix) } }
    do {
      try copy(to: partial)
      try DatabaseFile.sync(partial)
      let digest = try Self.sha256(of: partial)
      // Link instead of rename: it fails if the target was created in the meantime.
      guard link(partial, target) == 0 else {
        let reason = errno
        throw reason == EEXIST
          ? StoreError(.alreadyExists, "the target of a backup must not exist", path: target)
          : DatabaseFile.failure("name", target, reason)
      }
      try DatabaseFile.sync(DatabaseFile.directory(of: target))
      return BackupReport(path: target, sizeBytes: DatabaseFile.sizeBytes(target), sha256: digest)
    } catch {
      throw .from(error, path: target)
    }
  }

  private func copy(to partial: String) throws {
    let source = try factory.verifiedReader()
    defer { try? source.close() }
    try source.run("BEGIN")
    _ = try source.integer("SELECT count(*) FROM sqlite_schema")
    defer { try? source.run("COMMIT") }
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let copy = try SQLiteConnection(path: partial, configuration: configuration)
    defer { try? copy.close() }
    try source.queue.unsafeReentrantRead { from in
      try copy.queue.unsafeReentrantWrite { into in
        try from.backup(to: into, pagesPerStep: Self.stepPages) { _ in
          if isCancelled() { throw StoreError(.interrupted, "the backup was cancelled", path: target) }
        }
      }
    }
    // The copied header requires a write-ahead log. Without one, the backup is a single, self-contained file.
    try copy.run("PRAGMA journal_mode = DELETE")
    _ = try IntegrityCheck.run(.complete, on: copy)
  }

  private static func sha256(of path: String) throws -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw DatabaseFile.failure("open", path) }
    defer { close(descriptor) }
    let hasher = try SHA256Hasher()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count >= 0 else { throw DatabaseFile.failure("read", path) }
      guard count > 0 else { return try hasher.digest().hexadecimal }
      try buffer.withUnsafeBytes { try hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
  }
}
