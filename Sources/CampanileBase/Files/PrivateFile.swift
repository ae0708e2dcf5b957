#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Reads small files, checks that private ones are not accessible to others, and writes private ones.
public enum PrivateFile {
  /// The reason why a file cannot be read or written.
  public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Cause: Sendable, Hashable {
      /// A system call failed; the value is its `errno`.
      case system(Step, Int32)
      case notRegular
      /// The file has this mode: group or others have access.
      case exposed(mode: UInt32)
      case tooLong(sizeBytesMax: Int)
    }

    public enum Step: Sendable, Hashable {
      case open, examine, read, write
    }

    public let cause: Cause
    /// The file that could not be written; nil after a failed read, whose caller names the setting.
    public let path: String?

    init(cause: Cause, path: String? = nil) {
      self.cause = cause
      self.path = path
    }

    public var description: String { (path.map { "cannot write \($0): " } ?? "") + reason }

    private var reason: String {
      switch cause {
      case .system(_, let number): Self.text(number)
      case .notRegular: "not a regular file"
      case .exposed(let mode): "has mode 0\(String(mode, radix: 8)), so others can access it"
      case .tooLong(let sizeBytesMax): "longer than \(sizeBytesMax) bytes"
      }
    }

    /// The text of the operating system for an `errno`.
    static func text(_ number: Int32) -> String {
      strerror(number).map { String(cString: $0) } ?? "error \(number)"
    }
  }

  /// Reads a whole file.
  ///
  /// - Parameters:
  ///   - sizeBytesMax: Maximum size. A larger file is rejected without reading the rest.
  ///   - isPrivate: Whether to reject a file to which group or others have any access. The mode is read from the open
  ///     descriptor, so that the checked file is the one that is read.
  public static func read(_ path: String, sizeBytesMax: Int, isPrivate: Bool) throws(Failure) -> [UInt8] {
    // Non-blocking, so that a FIFO in place of the file cannot block the start.
    let descriptor = retried { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    guard descriptor >= 0 else { throw Failure(cause: .system(.open, errno)) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Failure(cause: .system(.examine, errno)) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw Failure(cause: .notRegular) }
    let mode = UInt32(status.st_mode & 0o7777)
    if isPrivate, mode & 0o077 != 0 { throw Failure(cause: .exposed(mode: mode)) }
    return try readAll(descriptor, sizeBytesMax: sizeBytesMax)
  }

  private static func readAll(_ descriptor: Int32, sizeBytesMax: Int) throws(Failure) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      let count = retried { readBytes(descriptor, &chunk) }
      guard count >= 0 else { throw Failure(cause: .system(.read, errno)) }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
      guard bytes.count <= sizeBytesMax else { throw Failure(cause: .tooLong(sizeBytesMax: sizeBytesMax)) }
    }
  }

  /// Atomically replaces the contents of `path` with `bytes`, with mode 0600. A failure leaves no partial copy.
  public static func write(_ bytes: some Sequence<UInt8>, to path: String) throws(Failure) {
    let temporary = path + ".\(getpid()).tmp"
    unlink(temporary)
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure(cause: .system(.write, errno), path: path) }
    do throws(Failure) {
      defer { close(descriptor) }
      try writeAll(Array(bytes), to: descriptor)
      guard fsync(descriptor) == 0, rename(temporary, path) == 0 else { throw Failure(cause: .system(.write, errno)) }
    } catch {
      unlink(temporary)
      throw Failure(cause: error.cause, path: path)
    }
  }

  private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(Failure) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = retried { rest.withUnsafeBytes { writeBytes(descriptor, $0) } }
      guard count >= 0 else { throw Failure(cause: .system(.write, errno)) }
      rest = rest.dropFirst(count)
    }
  }

  /// Repeats a system call as long as a signal interrupts it.
  private static func retried<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
      let result = call()
      if result >= 0 || errno != EINTR { return result }
    }
  }
}

/// The C library's `read`, whose name `PrivateFile.read` hides.
private func readBytes(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
  read(descriptor, &buffer, buffer.count)
}

/// The C library's `write`, whose name `PrivateFile.write` hides.
private func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}
