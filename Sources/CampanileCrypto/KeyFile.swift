#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Reading of key files, with the check that nobody else can.
public enum KeyFile {
  /// The largest file that is read: a key in PEM has some hundred bytes.
  public static let sizeBytesMax = 16 * 1024

  /// The bytes of a private file. The mode is that of the open file, so that the file checked is the file read.
  ///
  /// Throws `keyUnreadable` for a missing file, another kind of file and one above `sizeBytesMax`, `keyExposed` when group
  /// or others have any access. The message names the path.
  public static func read(_ path: String) throws(CryptoError) -> [UInt8] {
    // Non-blocking, so that a FIFO in the file's place cannot hold up the start.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw failure("cannot be opened: \(reason(errno))", path) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("cannot be examined: \(reason(errno))", path) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw failure("is no regular file", path) }
    let mode = status.st_mode & 0o777
    guard mode & 0o077 == 0 else {
      throw CryptoError(
        .keyExposed,
        "\(shown(path)): has mode 0\(String(mode, radix: 8)), so others can access it; run: chmod 600 '\(shown(path))'")
    }
    return try readAll(descriptor, path)
  }

  private static func readAll(_ descriptor: Int32, _ path: String) throws(CryptoError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: sizeBytesMax + 1)
    var count = 0
    while count < bytes.count {
      let room = bytes.count - count
      let taken = bytes.withUnsafeMutableBytes { buffer in
        readBytes(descriptor, buffer.baseAddress?.advanced(by: count), room)
      }
      if taken < 0 && errno == EINTR { continue }
      guard taken >= 0 else { throw failure("cannot be read: \(reason(errno))", path) }
      if taken == 0 { break }
      count += taken
    }
    guard count <= sizeBytesMax else { throw failure("is longer than \(sizeBytesMax) bytes", path) }
    return Array(bytes[..<count])
  }

  private static func failure(_ message: String, _ path: String) -> CryptoError {
    CryptoError(.keyUnreadable, "\(shown(path)): \(message)")
  }

  /// One line: a path may hold anything but zero bytes.
  static func shown(_ path: String) -> String {
    String(
      String.UnicodeScalarView(path.unicodeScalars.prefix(4096).map { $0.value < 32 || $0.value == 127 ? "?" : $0 }))
  }

  private static func reason(_ number: Int32) -> String {
    strerror(number).map { String(cString: $0) } ?? "error \(number)"
  }
}

/// `read` of the C library, whose name `KeyFile.read` hides.
private func readBytes(_ descriptor: Int32, _ start: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, start, count)
}
