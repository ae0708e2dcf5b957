import Foundation

/// Other programs as test oracles.
enum Oracle {
  struct Failure: Error { var status: Int32, output: String }

  /// Runs `python3 -c script` and returns its output.
  static func python(_ script: String, _ arguments: [String] = []) throws -> String {
    try run(["python3", "-c", script] + arguments)
  }

  /// Runs a program in PATH and returns its standard output and standard error. Throws if its exit status is not 0.
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
