import CDisk
import CampanileRPC
import CampanileService

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An open file. The calls are the system's, in one place, with failures as `RPCError`s.
final class DiskFile: Sendable {
  let path: String
  private let descriptor: Int32

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// A new file with mode 0600. Throws when there is one.
  static func create(_ path: String) throws(RPCError) -> DiskFile {
    try DiskFile(path, O_RDWR | O_CREAT | O_EXCL)
  }

  static func openToWrite(_ path: String) throws(RPCError) -> DiskFile { try DiskFile(path, O_RDWR) }

  /// Nil when there is none.
  static func openToRead(_ path: String) throws(RPCError) -> DiskFile? {
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

  /// Writes all of it at an offset.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(RPCError) {
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

  /// Fills the buffer from an offset as far as the file goes, and answers how many bytes that were.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(RPCError) -> Int {
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

  func sizeBytes() throws(RPCError) -> Int64 {
    let end = lseek(descriptor, 0, SEEK_END)
    guard end >= 0 else { throw Self.failure("measure") }
    return Int64(end)
  }

  /// Cuts or extends it.
  func resize(_ sizeBytes: Int64) throws(RPCError) {
    guard ftruncate(descriptor, off_t(sizeBytes)) == 0 else { throw Self.failure("resize") }
  }

  /// Has the system begin to write a part of it out, so that less is left for `sync`.
  func beginWritingOut(from offset: Int64, to end: Int64) {
    campanile_begin_writing_out(descriptor, offset, end - offset)
  }

  /// Returns when the content is on the disk.
  func sync() throws(RPCError) {
    guard fsync(descriptor) == 0 else { throw Self.failure("sync") }
  }

  static func rename(_ path: String, to other: String) throws(RPCError) {
    #if canImport(Darwin)
      let code = Darwin.rename(path, other)
    #elseif canImport(Musl)
      let code = Musl.rename(path, other)
    #else
      let code = Glibc.rename(path, other)
    #endif
    guard code == 0 else { throw failure("rename") }
  }

  /// Gives a file a second name. False when that name is taken.
  static func link(_ path: String, to other: String) throws(RPCError) -> Bool {
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

  /// One that is not there is no error.
  static func remove(_ path: String) { unlink(path) }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Makes a folder with mode 0700 unless it is there.
  static func makeFolder(_ path: String) throws(RPCError) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("create") }
  }

  /// Makes a folder with mode 0700. Throws when there is one.
  static func makeNewFolder(_ path: String) throws(RPCError) {
    guard mkdir(path, 0o700) == 0 else { throw failure("create") }
  }

  /// Returns when the names in a folder are on the disk.
  static func syncFolder(_ path: String) throws(RPCError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("open") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure("sync") }
  }

  /// No path: callers need not know where contents are.
  private static func failure(_ verb: String) -> RPCError {
    let reason = errno
    if reason == ENOSPC || reason == EDQUOT {
      return RPCError(.resourceExhausted, "the disk is full", reason: Reason.diskFull.rawValue)
    }
    return RPCError(
      .unavailable, "a content file cannot be used (\(verb), error \(reason))",
      reason: Reason.contentsUnavailable.rawValue)
  }
}
