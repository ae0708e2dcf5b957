import CClientFiles

/// A file that the program contains.
struct EmbeddedFile {
  let path: String
  let contentType: String
  let bytes: [UInt8]

  /// The files of the TypeScript client.
  static var client: [EmbeddedFile] { all(campanile_client_file) }
  /// The files of the web console.
  static var console: [EmbeddedFile] { all(campanile_console_file) }

  private static func all(_ file: (Int) -> UnsafePointer<campanile_client_file>?) -> [EmbeddedFile] {
    var found: [EmbeddedFile] = []
    while let next = file(found.count)?.pointee {
      found.append(
        EmbeddedFile(
          path: String(cString: next.path), contentType: String(cString: next.content_type),
          bytes: [UInt8](UnsafeBufferPointer(start: next.bytes, count: next.size_bytes))))
    }
    return found
  }
}
