#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Reading of small files, with the check that private ones are private.
enum PrivateFile {
  /// Reads a whole file.
  ///
  /// - Parameters:
  ///   - key: the setting that names the file, for messages.
  ///   - maximumBytes: a longer file is refused before its rest is read.
  ///   - isPrivate: refuse a file to which group or others have any access. The mode is read from the open
  ///     descriptor, so that the file checked is the file read.
  /// - Throws: `ConfigurationError` with the code `unreadableFile` or `insecureFile`; the message names the file.
  static func read(
    path: String, key: String, maximumBytes: Int, isPrivate: Bool
  ) throws(ConfigurationError) -> [UInt8] {
    // O_NONBLOCK so that a FIFO in the file's place cannot hold the start up.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw unreadable(path, key, String(cString: strerror(errno)))
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw unreadable(path, key, String(cString: strerror(errno)))
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw unreadable(path, key, "not a regular file")
    }
    if isPrivate {
      try checkMode(UInt32(status.st_mode), path: path, key: key)
    }
    return try readAll(descriptor, path: path, key: key, maximumBytes: maximumBytes)
  }

  /// Checks that a private file exists and is private, without reading it. Throws as `read` does.
  static func check(path: String, key: String) throws(ConfigurationError) {
    _ = try read(path: path, key: key, maximumBytes: 1024 * 1024, isPrivate: true)
  }

  private static func checkMode(_ mode: UInt32, path: String, key: String) throws(ConfigurationError) {
    guard mode & 0o077 == 0 else {
      let octal = String(mode & 0o777, radix: 8)
      throw ConfigurationError(
        code: .insecureFile, key: key,
        message: "\(key): \(path) has mode 0\(octal), so others can access it; run: chmod 600 '\(path)'")
    }
  }

  private static func readAll(
    _ descriptor: Int32, path: String, key: String, maximumBytes: Int
  ) throws(ConfigurationError) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      let count = readChunk(descriptor, &chunk)
      if count < 0 {
        if errno == EINTR { continue }
        throw unreadable(path, key, String(cString: strerror(errno)))
      }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
      if bytes.count > maximumBytes {
        throw unreadable(path, key, "longer than \(maximumBytes) bytes")
      }
    }
  }

  private static func readChunk(_ descriptor: Int32, _ chunk: inout [UInt8]) -> Int {
    chunk.withUnsafeMutableBytes { buffer in
      #if canImport(Glibc)
        Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      #elseif canImport(Musl)
        Musl.read(descriptor, buffer.baseAddress, buffer.count)
      #else
        Darwin.read(descriptor, buffer.baseAddress, buffer.count)
      #endif
    }
  }

  private static func unreadable(_ path: String, _ key: String, _ cause: String) -> ConfigurationError {
    ConfigurationError(
      code: .unreadableFile, key: key, message: "\(key): cannot read \(path): \(cause)")
  }
}
