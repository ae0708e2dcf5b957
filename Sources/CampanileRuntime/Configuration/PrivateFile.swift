import SystemPackage

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
    let result: Result<[UInt8], ConfigurationError>
    do {
      // Non-blocking, so that a FIFO in the file's place cannot hold the start up.
      let descriptor = try FileDescriptor.open(
        FilePath(path), .readOnly, options: [.closeOnExec, .nonBlocking])
      result = try descriptor.closeAfter {
        let status = try descriptor.stat()
        if let error = problem(status, path: path, key: key, isPrivate: isPrivate) { return .failure(error) }
        guard let bytes = try readAll(descriptor, maximumBytes: maximumBytes) else {
          return .failure(unreadable(path, key, "longer than \(maximumBytes) bytes"))
        }
        return .success(bytes)
      }
    } catch {
      throw unreadable(path, key, String(describing: error))
    }
    return try result.get()
  }

  /// Checks that a private file exists and is private. Throws as `read` does.
  static func check(path: String, key: String) throws(ConfigurationError) {
    _ = try read(path: path, key: key, maximumBytes: 1024 * 1024, isPrivate: true)
  }

  private static func problem(_ status: Stat, path: String, key: String, isPrivate: Bool) -> ConfigurationError? {
    guard status.type == .regular else { return unreadable(path, key, "not a regular file") }
    let mode = status.permissions.rawValue
    guard isPrivate, mode & 0o077 != 0 else { return nil }
    return ConfigurationError(
      code: .insecureFile, key: key,
      message: "\(key): \(path) has mode 0\(String(mode, radix: 8)), so others can access it; run: chmod 600 '\(path)'")
  }

  /// Answers nil when there is more than `maximumBytes`.
  private static func readAll(_ descriptor: FileDescriptor, maximumBytes: Int) throws -> [UInt8]? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      let count = try chunk.withUnsafeMutableBytes { try descriptor.read(into: $0) }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
      if bytes.count > maximumBytes { return nil }
    }
  }

  private static func unreadable(_ path: String, _ key: String, _ cause: String) -> ConfigurationError {
    ConfigurationError(
      code: .unreadableFile, key: key, message: "\(key): cannot read \(path.singleLine): \(cause)")
  }
}
