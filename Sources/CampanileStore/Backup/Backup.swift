import GRDB

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Copies a live database into a new file by SQLite's backup interface.
///
/// The source is read through a connection of its own that holds one snapshot: writers go on meanwhile (the log only
/// cannot be emptied until the end), and their commits do not make the copy start over.
struct Backup {
  /// Pages copied before the next look at a cancellation.
  static let stepPages: Int32 = 256

  let factory: ConnectionFactory
  let target: String
  /// Asked between two steps.
  let isCancelled: @Sendable () -> Bool

  /// Blocks until the copy is complete, checked, synced and renamed to its name.
  ///
  /// Throws `alreadyExists` when the target exists, `interrupted` when `isCancelled` said so, `diskFull`,
  /// `unavailable` or `corrupt`; no target is left behind then.
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
      // A link, not a rename: it fails when someone created the target meanwhile.
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
    let copy = try SQLConnection(path: partial, configuration: configuration)
    defer { try? copy.close() }
    try source.queue.unsafeReentrantRead { from in
      try copy.queue.unsafeReentrantWrite { into in
        try from.backup(to: into, pagesPerStep: Self.stepPages) { _ in
          if isCancelled() { throw StoreError(.interrupted, "the backup was cancelled", path: target) }
        }
      }
    }
    // The copy says "write-ahead log" in its header; without it the backup is one file, whole in itself.
    try copy.run("PRAGMA journal_mode = DELETE")
    _ = try IntegrityCheck.run(.complete, on: copy)
  }

  private static func sha256(of path: String) throws(StoreError) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw DatabaseFile.failure("open", path) }
    defer { close(descriptor) }
    var hash = SHA256()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count >= 0 else { throw DatabaseFile.failure("read", path) }
      guard count > 0 else { return hash.finalize() }
      buffer.withUnsafeBytes { hash.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }
  }
}
