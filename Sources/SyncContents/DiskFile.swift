import CCampanile
package import CampanileBase

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An open file. Wraps the system calls and throws their failures as `RPCError`s.
package final class DiskFile: Sendable {
  package let path: String
  private let descriptor: Int32

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Creates a new file with mode 0600. Throws if it exists.
  package static func create(_ path: String) throws(RPCError) -> DiskFile {
    try DiskFile(path, O_RDWR | O_CREAT | O_EXCL)
  }

  package static func openToWrite(_ path: String) throws(RPCError) -> DiskFile { try DiskFile(path, O_RDWR) }

  /// Opens a file for reading; nil if it does not exist.
  package static func openToRead(_ path: String) throws(RPCError) -> DiskFile? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    if descriptor < 0 {
      if errno == ENOENT { return nil }
      throw failure("open")
    }
    return DiskFile(path: path, descriptor: descriptor)
  }

  private convenience init(_ path: String, _ flags: Int32) throws(RPCError) {
    let descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.failure("open") }
    self.init(path: path, descriptor: descriptor)
  }

  /// Writes all bytes at an offset.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(RPCError) {
    var done = 0
    while done < bytes.count {
      let count = pwrite(descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done, off_t(offset) + done)
      if count < 0 {
        if errno == EINTR { continue }
        throw Self.failure("write")
      }
      done += count
    }
  }

  /// Fills the buffer from an offset, as far as the file goes, and returns the number of bytes.
  package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(RPCError) -> Int {
    var done = 0
    while done < buffer.count {
      let count = pread(descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(offset) + done)
      if count < 0 {
        if errno == EINTR { continue }
        throw Self.failure("read")
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  package func sizeBytes() throws(RPCError) -> Int64 {
    let end = lseek(descriptor, 0, SEEK_END)
    guard end >= 0 else { throw Self.failure("measure") }
    return Int64(end)
  }

  /// Truncates or extends the file.
  package func resize(_ sizeBytes: Int64) throws(RPCError) {
    guard ftruncate(descriptor, off_t(sizeBytes)) == 0 else { throw Self.failure("resize") }
  }

  /// Starts write-back of a part of the file, so that less is left for `sync`.
  package func beginWritingOut(from offset: Int64, to end: Int64) {
    campanile_begin_writing_out(descriptor, offset, end - offset)
  }

  /// Returns when the file's data is on disk.
  package func sync() throws(RPCError) {
    guard fsync(descriptor) == 0 else { throw Self.failure("sync") }
  }

  package static func rename(_ path: String, to other: String) throws(RPCError) {
    #if canImport(Darwin)
      let code = Darwin.rename(path, other)
    #elseif canImport(Musl)
      let code = Musl.rename(path, other)
    #else
      let code = Glibc.rename(path, other)
    #endif
    guard code == 0 else { throw failure("rename") }
  }

  /// Creates a second name for a file. Returns false if that name exists.
  package static func link(_ path: String, to other: String) throws(RPCError) -> Bool {
    #if canImport(Darwin)
      let code = Darwin.link(path, other)
    #elseif canImport(Musl)
      let code = Musl.link(path, other)
    #else
      let code = Glibc.link(path, other)
    #endif
    if code == 0 { return true }
    guard errno == EEXIST else { throw failure("link") }
    return false
  }

  /// Removes a file. A missing file is not an error.
  package static func remove(_ path: String) { unlink(path) }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Creates a folder with mode 0700 unless it exists.
  package static func makeFolder(_ path: String) throws(RPCError) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("create") }
  }

  /// Creates a folder with mode 0700. Throws if it exists.
  package static func makeNewFolder(_ path: String) throws(RPCError) {
    guard mkdir(path, 0o700) == 0 else { throw failure("create") }
  }

  /// Returns when the names in a folder are on disk.
  package static func syncFolder(_ path: String) throws(RPCError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure("sync") }
  }

  /// Omits the path, because callers need not know where contents are stored.
  private static func failure(_ verb: String) -> RPCError {
    let reason = errno
    if reason == ENOSPC || reason == EDQUOT {
      return RPCError(.resourceExhausted, "the disk is full", reason: ContentReason.diskFull)
    }
    return RPCError(
      .unavailable, "cannot access a content file (\(verb), error \(reason))",
      reason: ContentReason.contentsUnavailable)
  }
}
