import CampanileBase

/// Reads the files that settings name.
enum SettingFile {
  /// Reads a whole file.
  ///
  /// - Parameters:
  ///   - key: The setting that names the file, for messages.
  ///   - maximumBytes: Maximum size. A larger file is rejected without reading the rest.
  ///   - isPrivate: Whether to reject a file to which group or others have any access.
  /// - Throws: `ConfigurationError` with the code `unreadableFile` or `insecureFile`; the message names the file.
  static func read(
    path: String, key: String, maximumBytes: Int, isPrivate: Bool
  ) throws(ConfigurationError) -> [UInt8] {
    do throws(PrivateFile.Failure) {
      return try PrivateFile.read(path, sizeBytesMax: maximumBytes, isPrivate: isPrivate)
    } catch {
      if case .exposed = error.cause {
        throw ConfigurationError(
          code: .insecureFile, key: key, message: "\(key): \(path) \(error); run: chmod 600 '\(path)'")
      }
      throw ConfigurationError(
        code: .unreadableFile, key: key, message: "\(key): cannot read \(path.singleLine): \(error)")
    }
  }

  /// Checks that a private file exists and that only its owner can access it.
  ///
  /// - Throws: The errors of `read`.
  static func check(path: String, key: String) throws(ConfigurationError) {
    _ = try read(path: path, key: key, maximumBytes: 1024 * 1024, isPrivate: true)
  }
}
