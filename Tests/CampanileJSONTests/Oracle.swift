import Foundation

/// Python packages as test oracles.
enum Oracle {
  struct Failure: Error { var status: Int32, output: String }

  /// Runs `script` with the path of a file that contains `lines`, and returns the lines that it prints.
  static func python(_ script: String, lines: [String]) throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "campanile-json-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let input = folder.appending(path: "input")
    try Data(lines.joined(separator: "\n").utf8).write(to: input)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script, input.path]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(status: process.terminationStatus, output: text) }
    return text.split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
  }
}

func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
