import CampanileBase

/// Reads key files and checks that they are private.
public enum KeyFile {
  /// The maximum file size: a PEM key has some hundred bytes.
  public static let sizeBytesMax = 16 * 1024

  /// Reads a private file. Checks the mode of the open descriptor, so that the file checked is the file read.
  ///
  /// - Throws: `keyUnreadable` for a missing file, one that is not a regular file, or one above `sizeBytesMax`.
  ///   `keyExposed` if its group or others have any access. The message names the path.
  public static func read(_ path: String) throws(CryptoError) -> [UInt8] {
    do throws(PrivateFile.Failure) {
      return try PrivateFile.read(path, sizeBytesMax: sizeBytesMax, isPrivate: true)
    } catch {
      switch error.cause {
      case .system(.open, _): throw failure("cannot be opened: \(error)", path)
      case .system(.examine, _): throw failure("cannot be examined: \(error)", path)
      case .system(_, _): throw failure("cannot be read: \(error)", path)
      case .notRegular: throw failure("is not a regular file", path)
      case .exposed:
        throw CryptoError(.keyExposed, "\(shown(path)): \(error); run: chmod 600 '\(shown(path))'")
      case .tooLong: throw failure("is \(error)", path)
      }
    }
  }

  private static func failure(_ message: String, _ path: String) -> CryptoError {
    CryptoError(.keyUnreadable, "\(shown(path)): \(message)")
  }

  /// Returns the path as one line: a path may contain any byte except zero.
  static func shown(_ path: String) -> String {
    String(
      String.UnicodeScalarView(path.unicodeScalars.prefix(4096).map { $0.value < 32 || $0.value == 127 ? "?" : $0 }))
  }
}
