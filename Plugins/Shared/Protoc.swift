import Foundation
import PackagePlugin

/// The protobuf compiler, and the folders in which it finds protos.
struct Protoc {
  /// The environment variable `PROTOC_PATH`, or `protoc` in PATH.
  let program: URL
  private let folders: [URL]

  init(folders: [URL]) throws {
    self.folders = folders
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["PROTOC_PATH"] {
      guard FileManager.default.isExecutableFile(atPath: path) else {
        throw GeneratorError("PROTOC_PATH is \(path), which is not a program")
      }
      program = URL(filePath: path)
      return
    }
    let candidates = (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/protoc" }
    guard let path = candidates.first(where: FileManager.default.isExecutableFile) else {
      throw GeneratorError(
        "protoc is not in PATH: install the Debian packages protobuf-compiler and libprotobuf-dev, or set PROTOC_PATH")
    }
    program = URL(filePath: path)
  }

  var includes: [String] { folders.map { "-I\($0.path)" } }

  /// The protos in the folders after the first one. A change to one of them may change the generated code.
  var imported: [URL] {
    folders.dropFirst().flatMap { folder in
      let names = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
      return names.filter { $0.hasSuffix(".proto") }.sorted().map { folder.appending(path: $0) }
    }
  }

  /// Whether the protos are valid. Reports errors with their files and lines, which a build command could not do.
  func accepts(_ names: [String]) throws -> Bool {
    let process = Process()
    let output = Pipe()
    process.executableURL = program
    process.arguments = includes + ["--descriptor_set_out=/dev/null"] + names
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    for line in text.split(separator: "\n") { report(String(line)) }
    return process.terminationStatus == 0
  }

  /// Reports `NAME:LINE:COLUMN: MESSAGE`. `protoc` prints other errors without a position.
  ///
  /// The text repeats the position, because `swift build` does not print that of a diagnostic.
  private func report(_ line: String) {
    guard let match = line.wholeMatch(of: /(.+\.proto):(\d+):(\d+): (warning: )?(.*)/) else {
      return Diagnostics.error("protoc: \(line)")
    }
    let paths = folders.map { $0.appending(path: String(match.1)).path }
    let file = paths.first(where: FileManager.default.fileExists) ?? String(match.1)
    let severity: Diagnostics.Severity = match.4 == nil ? .error : .warning
    Diagnostics.emit(severity, "\(file):\(match.2):\(match.3): \(match.5)", file: file, line: Int(match.2))
  }
}
