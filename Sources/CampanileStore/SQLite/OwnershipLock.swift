import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The exclusive right of one process to write a database file, held through `flock` on `PATH.lock`.
///
/// SQLite itself would let two processes take turns. Two group-commit writers or outbox relays on one file are an
/// operator's mistake, which must be reported at startup. The kernel releases the lock when the process ends, however
/// it ends.
final class OwnershipLock: StoreClaim {
  private let descriptor: Mutex<Int32>

  /// Acquires the lock. Throws `inUse` with the owner's process id if another process or store holds it.
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
    // The pid is for the error message only, so a full disk must not prevent opening a store for reading.
    _ = ftruncate(descriptor, 0)
    _ = pwrite(descriptor, owner, owner.count, 0)
    self.descriptor = Mutex(descriptor)
  }

  /// Releases the lock. The lock file stays: removing it would let two openers lock different files.
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
