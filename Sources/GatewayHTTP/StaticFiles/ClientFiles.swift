/// The files of the TypeScript client, by their paths below `/sdk/`.
enum ClientFiles {
  static let pathPrefix = "/sdk/"

  /// All files, by path; built once per process.
  static let all: [String: StaticFile] = Dictionary(
    uniqueKeysWithValues: EmbeddedFile.client.map { file in
      (pathPrefix + file.path, StaticFile(contentType: file.contentType) { file.bytes })
    })
}
