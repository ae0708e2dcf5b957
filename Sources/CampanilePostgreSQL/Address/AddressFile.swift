import CampanileStore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A file that holds a server's address, and possibly its password.
enum AddressFile {
  private static let sizeBytesMax = 64 << 10

  /// Reads an address from a file.
  ///
  /// - Throws: `invalidArgument` if the file cannot be read, or if it holds a password that other users can read.
  static func read(
    _ path: String, setting: String, defaultDatabase: String?
  ) throws(StoreError) -> ServerAddress {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("cannot open the file: \(reason())", path, setting) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw failure("not a regular file", path, setting)
    }
    guard status.st_size <= sizeBytesMax else { throw failure("the file is not an address", path, setting) }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    let count = pread(descriptor, &bytes, bytes.count, 0)
    guard count >= 0 else { throw failure("cannot read the file: \(reason())", path, setting) }
    let text = String(decoding: bytes[..<count], as: UTF8.self)
    let address = try ServerAddress(
      String(text.drop(while: \.isWhitespace).trimmingSuffix(while: \.isWhitespace)), setting: setting,
      defaultDatabase: defaultDatabase)
    guard !address.hasPassword || status.st_mode & 0o077 == 0 else {
      throw failure("the file holds a password that other users can read; run: chmod 600 \(path)", path, setting)
    }
    return address
  }

  private static func reason() -> String { strerror(errno).map { String(cString: $0) } ?? "error \(errno)" }

  private static func failure(_ message: String, _ path: String, _ setting: String) -> StoreError {
    StoreError(.invalidArgument, "\(setting): \(message)", path: path)
  }
}

extension Substring {
  fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> Substring {
    var rest = self
    while let last = rest.last, predicate(last) { rest.removeLast() }
    return rest
  }
}
