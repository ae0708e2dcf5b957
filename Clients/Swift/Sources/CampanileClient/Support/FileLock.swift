package import CampanileBase

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An exclusive lock that processes share through a file. The system releases it when its process ends.
///
/// Two locks on the same file exclude each other within one process as well.
package final class FileLock: Sendable {
  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Waits for the lock. Its holders keep it only for reading and writing a file.
  package static func wait(_ path: String) throws(RPCError) -> FileLock {
    let lock = try opened(path)
    while flock(lock.descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw FileFailure.system("cannot lock \(path)") }
    }
    return lock
  }

  /// Returns the lock, or `nil` if it is held.
  package static func attempt(_ path: String) throws(RPCError) -> FileLock? {
    let lock = try opened(path)
    while flock(lock.descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno == EWOULDBLOCK { return nil }
      guard errno == EINTR else { throw FileFailure.system("cannot lock \(path)") }
    }
    return lock
  }

  private static func opened(_ path: String) throws(RPCError) -> FileLock {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileFailure.system("cannot open \(path)") }
    return FileLock(descriptor: descriptor)
  }
}

/// Errors of the file system, as UNAVAILABLE: the disk may have space later, and a locked device may be unlocked.
package enum FileFailure {
  package static let reason = "FILE_UNAVAILABLE"

  /// Returns the error of the last system call.
  package static func system(_ what: String) -> RPCError {
    let text = strerror(errno).map { String(cString: $0) } ?? "error \(errno)"
    return RPCError(.unavailable, "\(what): \(text)", reason: reason, processed: false)
  }
}
