import CampanileClient
import Foundation

/// The objects of an example: a gateway, and an outbox in a folder of its own.
@MainActor struct Example {
  let campanile: Campanile
  let outbox: Outbox
  let folder: URL

  init() throws {
    let environment = ProcessInfo.processInfo.environment
    guard let url = environment["CAMPANILE_URL"].flatMap({ URL(string: $0) }) else {
      throw ExampleError(description: "set CAMPANILE_URL to the gateway's address")
    }
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("campanile-example-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    campanile = Campanile(url, credentials: FixedCredential(key: environment["CAMPANILE_KEY"] ?? ""))
    outbox = Outbox(path: folder.appendingPathComponent("outbox").path)
  }

  /// Sends what waits in the outbox. Throws the first refusal.
  func send() async throws {
    try await outbox.sendNow(through: campanile.caller)
    if let refusal = try outbox.refusals().first { throw refusal.error }
  }

  /// Waits until a model shows something.
  func wait(_ what: String, _ condition: () -> Bool) async throws {
    for _ in 0..<3_000 {
      if condition() { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw ExampleError(description: "not within 30 s: \(what)")
  }
}

struct ExampleError: Error, CustomStringConvertible {
  let description: String
}
