import CampanileGateway
import Foundation
import Testing

@testable import CampanileClient
import CampanileNotifications

/// Unary calls over a fake network.
struct UnaryCallTests {
  private let ok = FakeTransport.response(200, #"{"bucket":{"id":"b_1","name":"Builds"},"new":1}"#)
  private let busy = FakeTransport.response(
    503, #"{"code":"unavailable","details":[{"debug":{"reason":"BUSY","retryDelay":"2s"}}]}"#)

  private func getBucket(_ caller: HTTPCaller, _ options: CallOptions = .init()) async throws -> GetBucketResponse {
    try await NotificationsServiceClient(caller).getBucket(.init(bucketId: "b_1"), options: options)
  }

  @Test func requestFollowsTheProtocol() async throws {
    let transport = FakeTransport(ok)
    let caller = HTTPCaller.fake(transport, credentials: FixedCredential(key: "cmp_1"))
    let response = try await getBucket(caller, CallOptions(timeoutMs: 5_000_000, metadata: ["x-a": "1", "x-a": "2"]))
    #expect(response.bucket?.name == "Builds")
    let request = transport.requests[0]
    #expect(
      request.url.absoluteString
        == "https://api.example/base/campanile.notifications.v1.NotificationsService/GetBucket")
    #expect(
      request.headers == [
        "authorization": "Bearer cmp_1", "content-type": "application/json", "connect-protocol-version": "1",
        "connect-timeout-ms": "5000000", "x-a": "1,2",
      ])
    #expect(String(decoding: request.body, as: UTF8.self) == #"{"bucketId":"b_1"}"#)
  }

  @Test func idempotentCallWaitsForRequestedDelayWithJitter() async throws {
    let clock = TestClock()
    let transport = FakeTransport(busy, busy, ok)
    _ = try await getBucket(.fake(transport, clock: clock, random: 1))
    #expect(transport.requests.count == 3)
    #expect(clock.sleptMs == [2_400, 2_400])
  }

  @Test func delayRequestedWithAnotherCodeIsHonoured() async throws {
    let limited = FakeTransport.response(
      429, #"{"code":"resource_exhausted","details":[{"debug":{"retryDelay":"1s"}}]}"#)
    let clock = TestClock()
    _ = try await getBucket(.fake(FakeTransport(limited, ok), clock: clock))
    #expect(clock.sleptMs == [1_100])
    let final = FakeTransport(FakeTransport.response(429, #"{"code":"resource_exhausted"}"#))
    #expect(await rpcError { try await getBucket(.fake(final)) }?.code == .resourceExhausted)
    #expect(final.requests.count == 1)
  }

  @Test func attemptsAreBounded() async {
    let transport = FakeTransport(busy)
    #expect(await rpcError { try await getBucket(.fake(transport)) }?.reason == "BUSY")
    #expect(transport.requests.count == 4)
    let once = FakeTransport(busy)
    #expect(await rpcError { try await getBucket(.fake(once), CallOptions(attemptsMax: 1)) }?.reason == "BUSY")
    #expect(once.requests.count == 1)
  }

  @Test func noAttemptFollowsTheDeadline() async {
    let transport = FakeTransport(busy)
    let error = await rpcError {
      try await getBucket(.fake(transport, clock: TestClock(parksFromMs: 1_000)), CallOptions(timeoutMs: 2_000))
    }
    #expect(error?.reason == "BUSY")
    #expect(transport.requests.count == 1)
  }

  @Test func callWithRequestIDIsRepeatedWithTheSameID() async throws {
    let transport = FakeTransport(busy, FakeTransport.response(200, "{}"))
    _ = try await NotificationsServiceClient(HTTPCaller.fake(transport)).createNotification(.init())
    let bodies = transport.requests.map { String(decoding: $0.body, as: UTF8.self) }
    #expect(bodies == [#"{"requestId":"id-1"}"#, #"{"requestId":"id-1"}"#])
    let given = FakeTransport(FakeTransport.response(200, "{}"))
    _ = try await NotificationsServiceClient(HTTPCaller.fake(given)).createNotification(.init(requestId: "mine"))
    #expect(String(decoding: given.requests[0].body, as: UTF8.self) == #"{"requestId":"mine"}"#)
  }

  @Test func otherCallIsNotRepeated() async {
    let transport = FakeTransport(busy)
    let method = MethodDescriptor(
      path: "p.S/M", kind: .unary, idempotency: .unknown, requestType: "", responseType: "")
    let error = await rpcError {
      try await HTTPCaller.fake(transport).call(method, json: [123, 125], options: .init())
    }
    #expect(error?.reason == "BUSY")
    #expect(transport.requests.count == 1)
    let options = CallOptions(metadata: ["idempotency-key": "k"])
    let keyed = FakeTransport(busy, FakeTransport.response(200, "{}"))
    #expect(
      await rpcError { try await HTTPCaller.fake(keyed).call(method, json: [123, 125], options: options) } == nil)
    #expect(keyed.requests.map { $0.headers["idempotency-key"] } == ["k", "k"])
  }

  @Test func deadlineEndsACallWithoutResponse() async {
    let transport = FakeTransport({ _, _ in })
    let caller = HTTPCaller.fake(transport, clock: TestClock(parksFromMs: .max))
    #expect(await rpcError { try await getBucket(caller) }?.code == .deadlineExceeded)
    #expect(transport.cancelCount == 1)
  }

  @Test func cancellationStopsTheRequest() async throws {
    let transport = FakeTransport({ _, _ in })
    let caller = HTTPCaller.fake(transport)
    let task = Task { await rpcError { try await getBucket(caller) } }
    try await eventually("a request") { transport.requests.count == 1 }
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    try await eventually("a cancelled request") { transport.cancelCount == 1 }
  }

  @Test(arguments: [
    (302, "", "text/html", RPCError.Code.unavailable, "REDIRECT_REFUSED"),
    (200, "<html>", "text/html", .unavailable, "RESPONSE_INVALID"),
    (200, #"{"bucket":3}"#, "application/json; charset=utf-8", .internalError, "REPLY_INVALID"),
    (200, String(repeating: " ", count: 101), "application/json", .resourceExhausted, "RESPONSE_TOO_LARGE"),
    (502, "Bad Gateway", "text/plain", .unavailable, "UNAVAILABLE"),
  ])
  func unusableResponseIsAnError(
    status: Int, body: String, type: String, code: RPCError.Code, reason: String
  ) async {
    let transport = FakeTransport(FakeTransport.response(status, body, type: type))
    let caller = HTTPCaller.fake(transport) { $0.responseBytesMax = 100 }
    let error = await rpcError { try await getBucket(caller) }
    #expect(error?.code == code)
    #expect(error?.reason == reason)
  }

  @Test func declaredLengthIsRefusedBeforeTheBody() async {
    let transport = FakeTransport({ _, receiver in
      receiver.received(HTTPHead(status: 200, headers: ["Content-Length": "101", "Content-Type": "application/json"]))
    })
    let caller = HTTPCaller.fake(transport) { $0.responseBytesMax = 100 }
    #expect(await rpcError { try await getBucket(caller) }?.reason == "RESPONSE_TOO_LARGE")
    #expect(transport.cancelCount == 1)
  }

  @Test func credentialIsNotSentWithoutTLS() async {
    let method = NotificationsServiceMethods.getBucket
    for (url, isSent) in [
      ("http://api.example", false), ("http://127.0.0.1:7480", true), ("http://[::1]:1", true),
      ("http://localhost", true), ("http://127.0.0.1.example", false), ("https://api.example", true),
    ] {
      let request = Result { () throws(RPCError) in
        try ConnectRequest.unary(
          URL(string: url)!, method, [], [:], Credential("cmp_1"), timeoutMs: nil, allowsCleartext: false)
      }
      if case .failure(let error) = request { #expect(error.reason == "CLEARTEXT_REFUSED") }
      #expect(((try? request.get()) != nil) == isSent, "\(url)")
    }
  }

  @Test func invalidMetadataIsRefused() async {
    let transport = FakeTransport(ok)
    let error = await rpcError { try await getBucket(.fake(transport), CallOptions(metadata: ["A b": "1"])) }
    #expect(error?.reason == "METADATA_KEY_INVALID")
    #expect(transport.requests.isEmpty)
  }

  @Test func requestStreamsAreUnimplemented() async {
    let echo = EchoServiceClient(HTTPCaller.fake(FakeTransport(ok)))
    #expect(await rpcError { try await echo.collect { _ in } }?.code == .unimplemented)
    #expect(await rpcError { for try await _ in echo.chat(requests: { _ in }) {} }?.code == .unimplemented)
  }
}
