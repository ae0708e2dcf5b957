import Testing

@testable import CampanileClient
import CampanileNotifications

/// Streams of responses over a fake network.
struct StreamCallTests {
  private func watch(
    _ caller: HTTPCaller, _ options: CallOptions = .init()
  ) -> ResponseStream<WatchNotificationsResponse> {
    NotificationsServiceClient(caller).watchNotifications(.init(resumeToken: "t0"), options: options)
  }

  private func tokens(_ caller: HTTPCaller, _ options: CallOptions = .init()) async -> ([String], RPCError?) {
    var tokens: [String] = []
    let error = await rpcError {
      for try await response in watch(caller, options) { tokens.append(response.resumeToken) }
    }
    return (tokens, error)
  }

  private let two: [(flags: UInt8, text: String)] = [(0, #"{"resumeToken":"1"}"#), (0, #"{"resumeToken":"2"}"#)]

  @Test func messagesAreReadUntilTheEnd() async {
    let transport = FakeTransport(FakeTransport.stream(two + [(2, "{}")]))
    let (tokens, error) = await tokens(.fake(transport), CallOptions(timeoutMs: 2_000_000))
    #expect(tokens == ["1", "2"] && error == nil)
    let request = transport.requests[0]
    #expect(request.headers["content-type"] == "application/connect+json")
    #expect(request.headers["connect-timeout-ms"] == "2005000")
    #expect(request.body == [0, 0, 0, 0, 20] + Array(#"{"resumeToken":"t0"}"#.utf8))
  }

  @Test func errorFollowsTheMessagesBeforeIt() async {
    let end = #"{"error":{"code":"out_of_range","details":[{"debug":{"reason":"TOKEN_TOO_OLD"}}]}}"#
    let (tokens, error) = await tokens(.fake(FakeTransport(FakeTransport.stream(two + [(2, end)]))))
    #expect(tokens == ["1", "2"])
    #expect(error?.code == .outOfRange && error?.reason == "TOKEN_TOO_OLD")
  }

  @Test func streamWithoutEndIsLost() async {
    let (tokens, error) = await tokens(.fake(FakeTransport(FakeTransport.stream(two))))
    #expect(tokens == ["1", "2"])
    #expect(error?.code == .unavailable && error?.reason == "CONNECTION_LOST")
  }

  @Test func refusalIsAnErrorWithoutMessages() async {
    let refusal = FakeTransport.response(403, #"{"code":"permission_denied","details":[{"debug":{"reason":"S"}}]}"#)
    let (tokens, error) = await tokens(.fake(FakeTransport(refusal)))
    #expect(tokens.isEmpty)
    #expect(error?.code == .permissionDenied && error?.reason == "S")
    let page = FakeTransport.response(200, "<html>", type: "text/html")
    #expect(await self.tokens(.fake(FakeTransport(page))).1?.reason == "RESPONSE_INVALID")
  }

  @Test func slowReaderReceivesItsMessagesAndThenAnError() async throws {
    let script = FakeTransport.stream(Array(repeating: (0, #"{"resumeToken":"1"}"#), count: 9) + [(2, "{}")])
    let transport = FakeTransport(script)
    let (tokens, error) = await tokens(.fake(transport) { $0.unreadBytesMax = 60 })
    #expect(tokens.count >= 3 && tokens.count < 9)
    #expect(error?.reason == "SLOW_CONSUMER")
  }

  @Test func longMessageEndsTheStream() async {
    let script = FakeTransport.stream([(0, String(repeating: " ", count: 101))], staysOpen: true)
    let transport = FakeTransport(script)
    #expect(await tokens(.fake(transport) { $0.responseBytesMax = 100 }).1?.reason == "RESPONSE_TOO_LARGE")
    #expect(transport.cancelCount > 0)
  }

  @Test func invalidMessageEndsTheStream() async throws {
    let transport = FakeTransport(FakeTransport.stream([(0, "x")], staysOpen: true))
    #expect(await tokens(.fake(transport)).1?.reason == "REPLY_INVALID")
    try await eventually("a cancelled request") { transport.cancelCount > 0 }
  }

  @Test func cancelledReaderStopsTheRequest() async throws {
    let transport = FakeTransport(FakeTransport.stream(two, staysOpen: true))
    let caller = HTTPCaller.fake(transport)
    let task = Task { await tokens(caller) }
    try await eventually("a request") { transport.requests.count == 1 }
    task.cancel()
    #expect(await task.value.1?.code == .cancelled)
    try await eventually("a cancelled request") { transport.cancelCount > 0 }
  }

  @Test func releasedStreamStopsTheRequest() async throws {
    let transport = FakeTransport(FakeTransport.stream(two, staysOpen: true))
    for try await _ in watch(HTTPCaller.fake(transport)) { break }
    try await eventually("a cancelled request") { transport.cancelCount > 0 }
  }

  @Test func silentServerIsNotWaitedForForever() async {
    let transport = FakeTransport({ _, _ in })
    let (_, error) = await tokens(.fake(transport, clock: TestClock(parksFromMs: .max)))
    #expect(error?.reason == "CONNECTION_LOST")
    #expect(transport.cancelCount > 0)
  }

  @Test func deadlineEndsAnOpenStream() async {
    let transport = FakeTransport(FakeTransport.stream(two, staysOpen: true))
    let clock = TestClock(parksFromMs: 1_000)
    let (_, error) = await tokens(.fake(transport, clock: clock), CallOptions(timeoutMs: 500))
    #expect(error?.code == .deadlineExceeded)
  }
}
