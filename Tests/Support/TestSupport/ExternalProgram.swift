import Foundation

/// Other programs that tests run, such as test oracles.
package enum ExternalProgram {
  package struct Failure: Error { package var status: Int32, output: String }

  /// Runs `python3 -c script` and returns its output.
  package static func python(_ script: String, _ arguments: [String] = []) throws -> String {
    try run(["python3", "-c", script] + arguments)
  }

  /// Runs `script` with the path of a file that contains `lines`, and returns the lines that it prints.
  package static func python(_ script: String, lines: [String]) throws -> [String] {
    let folder = try TemporaryFolder()
    let input = folder.file("input")
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: input))
    return try python(script, [input]).split(separator: "\n").map(String.init)
  }

  /// Runs a program in PATH and returns its standard output and standard error. Throws if its exit status is not 0.
  @discardableResult
  package static func run(_ command: [String]) throws -> String {
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

  /// Creates a key and a self-signed certificate for `names`, such as `DNS:server.test`.
  package static func makeCertificate(_ certificateFile: String, key keyFile: String, names: String) throws {
    try run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=server.test", "-addext", "subjectAltName=\(names)", "-keyout", keyFile, "-out", certificateFile,
    ])
  }
}
