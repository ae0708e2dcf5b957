import CampanileService
import Foundation
import Testing

/// Runs `Tests/Support/action_server.py` in a separate process on a free port.
final class ActionServer: Sendable {
  struct Request: Decodable, Sendable {
    var method: String
    var path: String
    var headers: [String: String]
    var body: String
  }

  let port: Int
  private let process: Process
  private let input: Pipe
  private let output: Pipe

  /// Serves TLS if given a certificate and its key.
  init(tls files: [String] = []) throws {
    process = Process()
    input = Pipe()
    output = Pipe()
    let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Support/action_server.py").path
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", script] + files
    process.standardInput = input
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var line = Data()
    while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) {
      if byte.isEmpty { break }
      line += byte
    }
    port = try #require(Int(String(decoding: line, as: UTF8.self)))
  }

  deinit { try? input.fileHandleForWriting.close() }

  func url(_ path: String, scheme: String = "http", host: String = "127.0.0.1") -> String {
    "\(scheme)://\(host):\(port)\(path)"
  }

  /// Stops the server and returns every request that it received.
  ///
  /// The pipes need not end: a process that another test started at the same time may have inherited them.
  func requests() throws -> [Request] {
    try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    var text = Data("\n".utf8)
    while !text.suffix(2).elementsEqual("\n\n".utf8) {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { break }
      text += more
    }
    process.waitUntilExit()
    return try text.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Request.self, from: $0) }
  }
}
