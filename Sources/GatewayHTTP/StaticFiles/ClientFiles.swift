import CClientFiles

/// The files of the TypeScript client, by their paths below `/sdk/`.
enum ClientFiles {
  static let pathPrefix = "/sdk/"

  /// All files, by path. They are compressed on first use, once per process.
  static let all: [String: StaticFile] = {
    var files: [String: StaticFile] = [:]
    var index = 0
    while let file = campanile_client_file(index)?.pointee {
      let bytes = [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.size_bytes))
      files[pathPrefix + String(cString: file.path)] = StaticFile(
        bytes, contentType: String(cString: file.content_type))
      index += 1
    }
    return files
  }()
}
