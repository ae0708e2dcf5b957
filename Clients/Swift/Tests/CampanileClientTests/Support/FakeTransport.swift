import Foundation

@testable import CampanileClient

/// A transport whose responses are closures.
final class FakeTransport: HTTPTransport {
  typealias Script = @Sendable (HTTPRequest, any HTTPReceiver) -> Void

  private let scripts: Locked<[Script]>
  private let sent = Locked<[HTTPRequest]>([])
  private let cancelled = Locked(0)

  /// - Parameter scripts: One for each request; the last one is repeated.
  init(_ scripts: Script...) { self.scripts = Locked(scripts) }

  var requests: [HTTPRequest] { sent.withLock { $0 } }
  var cancelCount: Int { cancelled.withLock { $0 } }

  func start(_ request: HTTPRequest, _ receiver: any HTTPReceiver) -> any HTTPRequestHandle {
    sent.withLock { $0.append(request) }
    let script = scripts.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    script(request, receiver)
    return Handle(transport: self)
  }

  private struct Handle: HTTPRequestHandle {
    let transport: FakeTransport
    func cancel() { transport.cancelled.withLock { $0 += 1 } }
  }

  /// A whole response.
  static func response(
    _ status: Int, _ body: String, type: String = "application/json", headers: [String: String] = [:]
  ) -> Script {
    { _, receiver in
      receiver.received(HTTPHead(status: status, headers: headers.merging(["Content-Type": type]) { $1 }))
      receiver.received(Array(body.utf8))
      receiver.ended(nil)
    }
  }

  static func failure(_ error: RPCError) -> Script { { _, receiver in receiver.ended(error) } }

  /// A stream of envelopes, each with its flags; ended unless it stays open.
  static func stream(_ envelopes: [(flags: UInt8, text: String)], staysOpen: Bool = false) -> Script {
    { _, receiver in
      receiver.received(HTTPHead(status: 200, headers: ["content-type": "application/connect+json"]))
      for (flags, text) in envelopes {
        var bytes = EnvelopeReader.envelope(Array(text.utf8))
        bytes[0] = flags
        receiver.received(bytes)
      }
      if !staysOpen { receiver.ended(nil) }
    }
  }
}

extension HTTPCaller {
  /// A caller with a fake network and time.
  static func fake(
    _ transport: FakeTransport, credentials: any CredentialSource = NoCredentials(), clock: TestClock = TestClock(),
    random: Double = 0.5, _ configure: (inout HTTPCallerConfiguration) -> Void = { _ in }
  ) -> HTTPCaller {
    var configuration = HTTPCallerConfiguration()
    // Deadlines are long sleeps, which the clock does not shorten.
    configuration.timeoutMs = 10_000_000
    configure(&configuration)
    return HTTPCaller(
      URL(string: "https://api.example/base")!, credentials: credentials, configuration: configuration,
      environment: clock.environment(random: random), transport: transport)
  }
}

/// Returns the error that `body` throws.
func rpcError<R>(_ body: () async throws -> R) async -> RPCError? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error as? RPCError
  }
}
