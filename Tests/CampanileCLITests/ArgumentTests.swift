import ArgumentParser
import CampanileBase
import CampanileRPC
import Foundation
import Testing

@testable import CampanileCLI

@Suite struct ArgumentTests {
  @Test(arguments: [
    ("250ms", 250), ("5s", 5_000), ("5", 5_000), ("2m", 120_000), ("1h", 3_600_000), ("24h", 86_400_000),
  ])
  func parsesDurations(text: String, milliseconds: Int64) {
    #expect(Timeout(argument: text)?.milliseconds == milliseconds)
  }

  @Test(arguments: [
    "", "s", "-1s", "0", "0ms", "25h", "1.5s", "5 s", "5d", "99999999999999999999", "9223372036854775807h",
  ])
  func rejectsInvalidDurations(text: String) { #expect(Timeout(argument: text) == nil) }

  @Test func parsesMetadata() {
    #expect(MetadataArgument(argument: "X-Trace: a:b ")?.key == "x-trace")
    #expect(MetadataArgument(argument: "X-Trace: a:b ")?.value == "a:b")
    #expect(MetadataArgument(argument: "empty:")?.value == "")
    for bad in ["novalue", ": x", "sp ace: x", "è: x", ""] { #expect(MetadataArgument(argument: bad) == nil) }
  }

  @Test func parsesAddresses() throws {
    #expect(try Destination(address: "example.com:7400") == Destination(host: "example.com", port: 7400))
    #expect(try Destination(address: "[::1]:1") == Destination(host: "::1", port: 1))
    #expect(try Destination(address: ":7400") == Destination(host: "127.0.0.1", port: 7400))
    for bad in ["", "7400", "host:", "host:0", "host:65536", "::1:80", "host:x"] {
      #expect(throws: UsageError.self) { try Destination(address: bad) }
    }
  }

  @Test func passesOptionsToCall() async throws {
    let command = try await CallCommand.asyncParse([
      "GetNotification", "{}", "-H", "traceparent: 00-1", "--header", "a:1", "--timeout", "2s", "--as", "user/alice",
      "--output", "pretty",
    ])
    let options = command.connection.callOptions()
    #expect(options.timeoutMs == 2_000)
    #expect(options.metadata["traceparent"] == "00-1")
    #expect(options.metadata["a"] == "1")
    #expect(options.metadata["campanile-principal"] == "user/alice")
    #expect(command.output.formatter.layout == .pretty)
  }

  @Test(arguments: [
    ["call"], ["call", "X", "{}", "{}"], ["call", "X", "--timeout", "soon"], ["watch"], ["frobnicate"],
    ["up", "--port-base", "80"],
    ["call", "X", "--as", "alice"], ["call", "X", "--as", "user/"], ["call", "X", "--as", ""],
    ["call", "X", "--as", "user/a+b@example.com"],
    ["keys", "create"], ["call", "X", "--output", "xml"], ["up", "--durability", "none"],
  ])
  func incorrectUsageExitsWith64(arguments: [String]) async {
    #expect(await CampanileCommand.run(arguments) == 64)
  }

  @Test func failedCallExitsWithStatusNumber() {
    for code in 1...16 {
      guard let status = RPCError.Code(rawValue: code) else { continue }
      #expect(CampanileCommand.report(RPCError(status, "text")) == Int32(code))
    }
    #expect(CampanileCommand.report(UsageError("no")) == 64)
    #expect(CampanileCommand.report(POSIXError(.EPIPE)) == 0)
  }

  @Test func unreachableServersAreUnavailable() async {
    // No machine that runs tests uses port 1 on loopback.
    let code = await CampanileCommand.run(["health", "--address", "127.0.0.1:1", "--timeout", "2s"])
    #expect(code == 14)
  }

  @Test func printsFieldsAndReasons() {
    var error = RPCError.invalidField("notification.title", "must not be empty", reason: "FIELD_EMPTY")
    error.errorMetadata = ["limit": "256"]
    error.retryAfterMs = 1500
    let lines = ErrorReport.lines(for: error)
    #expect(lines[0] == "INVALID_ARGUMENT: notification.title: must not be empty")
    #expect(lines.contains("  field   notification.title: must not be empty (FIELD_EMPTY)"))
    #expect(lines.contains("  reason  FIELD_EMPTY"))
    #expect(lines.contains("  detail  limit = 256"))
    #expect(lines.contains("  retry   after 1500 ms"))
    #expect(ErrorReport.lines(for: RPCError(.unknown, "a\u{1b}[2Jb\nc"))[0] == #"UNKNOWN: a\u001b[2Jb\u000ac"#)
  }

  @Test func parsesRequestSources() throws {
    #expect(RequestSource(argument: nil) == .none)
    #expect(RequestSource(argument: "-") == .standardInput)
    #expect(RequestSource(argument: "@a/b.json") == .file("a/b.json"))
    #expect(try RequestSource(argument: "{}").read() == Array("{}".utf8))
    #expect(throws: UsageError.self) { try RequestSource.file("/nonexistent/file").read() }
  }

  @Test func readsLinesOfFileAndText() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("lines-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    // Needs several reads, with lines across their boundaries, blank lines, and no final newline.
    let lines = (0..<3_000).map { "{\"number\":\($0),\"text\":\"\(String(repeating: "è", count: $0 % 97))\"}" }
    try Data(lines.joined(separator: "\n\n").utf8).write(to: file)
    for source in [RequestSource.file(file.path), .text(lines.joined(separator: "\n \n"))] {
      var found: [String] = []
      for try await line in try source.lines() { found.append(String(decoding: line, as: UTF8.self)) }
      #expect(found == lines)
    }
    #expect(throws: UsageError.self) { try RequestSource.file("/nonexistent/file").lines() }
    await #expect(throws: UsageError.self) {
      for try await _ in try RequestSource.file("/tmp").lines() {}
    }
  }

  @Test func completionKeepsServerOptions() {
    let words = ["campanile", "call", "Get", "--data-dir", "x", "--address=h:1", "--timeout", "1s", "--key"]
    #expect(MethodCompletion.connectionWords(words) == ["--data-dir", "x", "--address=h:1"])
    let methods = [
      KnownMethod(service: "a.S", name: "Get"), KnownMethod(service: "b.T", name: "Get"),
      KnownMethod(service: "b.T", name: "Put"),
    ]
    #expect(MethodCompletion.names(of: methods) == ["Put", "S/Get", "T/Get", "a.S/Get", "b.T/Get", "b.T/Put"])
  }
}
