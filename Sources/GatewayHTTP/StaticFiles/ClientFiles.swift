import CClientFiles

/// The files of the TypeScript client, by their paths below `/sdk/`.
enum ClientFiles {
  static let pathPrefix = "/sdk/"

  /// All files, by path; built once per process.
  static let all: [String: StaticFile] = {
    var files: [String: StaticFile] = [:]
    var index = 0
    while let file = campanile_client_file(index)?.pointee {
      let bytes = [UInt8](UnsafeBufferPointer(start: file.bytes, count: file.size_bytes))
      files[pathPrefix + String(cString: file.path)] = StaticFile(contentType: String(cString: file.content_type)) {
        bytes
      }
      index += 1
    }
    return files
  }()
}
