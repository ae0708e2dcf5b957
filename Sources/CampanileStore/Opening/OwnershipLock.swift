import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The right to write a database file, held by one process through `flock` on `PATH.lock`.
///
/// SQLite itself would let two processes take turns; two group-commit writers and two outbox relays on one file are
/// an operator's mistake that must be told at start. The kernel frees the lock with the process, however it ends.
final class OwnershipLock: Sendable {
  private let descriptor: Mutex<Int32>

  /// Throws `inUse`, naming the owner's process id, when another process (or store) has the file.
  init(databasePath: String) throws(StoreError) {
    let path = databasePath + ".lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw DatabaseFile.failure("open", path) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let reason = errno
      let owner = Self.readOwner(descriptor)
      close(descriptor)
      guard reason == EWOULDBLOCK else { throw DatabaseFile.failure("lock", path, reason) }
      throw StoreError(
        .inUse, "the database is in use by another process\(owner.map { " (pid \($0))" } ?? "")", path: databasePath)
    }
    let owner = Array("\(getpid())\n".utf8)
    // The pid is for the message alone: a full disk must not keep a store from opening to be read.
    _ = ftruncate(descriptor, 0)
    _ = pwrite(descriptor, owner, owner.count, 0)
    self.descriptor = Mutex(descriptor)
  }

  /// Gives the file up. The lock file stays: removing it would let two openers lock different files.
  func release() {
    descriptor.withLock { descriptor in
      if descriptor >= 0 { close(descriptor) }
      descriptor = -1
    }
  }

  deinit { release() }

  private static func readOwner(_ descriptor: Int32) -> Int32? {
    var buffer = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { return nil }
    return Int32(String(decoding: buffer[..<count].prefix { $0 != 0x0A }, as: UTF8.self))
  }
}
