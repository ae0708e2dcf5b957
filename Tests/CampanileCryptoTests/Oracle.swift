import Foundation

/// Other programs as oracles.
enum Oracle {
  struct Failure: Error { var status: Int32, output: String }

  /// Standard output of `python3 -c script` as text.
  static func python(_ script: String, _ arguments: [String] = []) throws -> String {
    try run(["python3", "-c", script] + arguments)
  }

  /// Standard output of a program found in PATH. Throws when it ends with another status than 0.
  static func run(_ command: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(status: process.terminationStatus, output: text) }
    return text
  }
}
