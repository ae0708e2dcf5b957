internal import Foundation

/// An exclusive lock on a data folder, which allows only one `campanile up` at a time.
public struct SuiteLock: ~Copyable {
  private let descriptor: Int32

  /// Acquires the lock of `folder`.
  ///
  /// - Throws: `UsageError` with the process id of the holder if the folder is already locked.
  public init(folder: String) throws(UsageError) {
    let path = folder + "/up.lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw UsageError("cannot open \(path): \(String(cString: strerror(errno)))") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      var buffer = [UInt8](repeating: 0, count: 32)
      let count = max(0, read(descriptor, &buffer, buffer.count))
      close(descriptor)
      let holder = String(decoding: buffer.prefix(count), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
      throw UsageError(
        "`campanile up` is already running on \(folder)\(holder.isEmpty ? "" : " (process \(holder))"): "
          + "stop it first, or give another --data-dir")
    }
    ftruncate(descriptor, 0)
    try? Console.write(Array("\(getpid())\n".utf8), to: descriptor)
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }
}
