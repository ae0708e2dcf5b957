import CampanileBase
import CampanileCodec
import Logging
import Testing

@testable import CampanileRPC

/// Records the begin and the end of calls.
private struct Recording: ClientInterceptor {
  let name: String
  let log: ClientLog<String>

  func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
    log.add("\(name) begins \(call.method.name)")
    do {
      let response = try await next(call)
      log.add("\(name) ends")
      return response
    } catch {
      log.add("\(name) fails with \((error as? RPCError)?.code.name ?? "\(type(of: error))")")
      throw error
    }
  }
}

/// Adds metadata and one to the count of every message, after a pause.
private struct Changing: ClientInterceptor {
  var pause = Duration.zero

  func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
    try await Task.sleep(for: pause)
    var call = call
    call.options.metadata.add("added", for: "x-added")
    return try await next(call)
  }

  func intercept<Message: ProtoMessage>(request: Message, of call: OutgoingCall) throws(RPCError) -> Message {
    Note.incremented(request)
  }
  func intercept<Message: ProtoMessage>(response: Message, of call: OutgoingCall) throws(RPCError) -> Message {
    Note.incremented(response)
  }
}

/// Throws an error at one place of a call.
private struct Failing: ClientInterceptor {
  enum Place: CaseIterable { case before, after, request, response, early }
  struct Failure: Error {}
  let place: Place
  var error: any Error = RPCError(.permissionDenied, "refused", reason: "REFUSED")

  func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
    if place == .before { throw error }
    guard place != .early else {
      return try await withThrowingTaskGroup(of: Response?.self) { group in
        group.addTask { try await next(call) }
        group.addTask { throw error }
        defer { group.cancelAll() }
        while let response = try await group.next() { if let response { return response } }
        throw error
      }
    }
    let response = try await next(call)
    if place == .after { throw error }
    return response
  }

  func intercept<Message: ProtoMessage>(request: Message, of call: OutgoingCall) throws(RPCError) -> Message {
    if place == .request { throw RPCError(.permissionDenied, "refused", reason: "REFUSED") }
    return request
  }

  func intercept<Message: ProtoMessage>(response: Message, of call: OutgoingCall) throws(RPCError) -> Message {
    if place == .response { throw RPCError(.permissionDenied, "refused", reason: "REFUSED") }
    return response
  }
}

/// Continues each call twice.
private struct Repeating: ClientInterceptor {
  func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
    _ = try await next(call)
    return try await next(call)
  }
}

/// A caller of a type that `intercepted` does not know.
private struct Forwarding: RPCCaller {
  let caller: any RPCCaller

  func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) async throws -> R { try await caller.unary(method, request, options: options) }

  func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) -> ResponseStream<R> { caller.serverStreaming(method, request, options: options) }

  func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) async throws -> R { try await caller.clientStreaming(method, options: options, requests: requests) }

  func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R> { caller.bidirectional(method, options: options, requests: requests) }
}

/// A client's interceptors, over sockets.
@Suite(.timeLimit(.minutes(1))) struct ClientInterceptorTests {
  private let log = ClientLog<String>()
  private let handled = ClientLog<String>()

  private func withCalls(
    _ interceptors: [any ClientInterceptor], _ body: (DoublingCalls) async throws -> Void
  ) async throws {
    try await Doubling.serve(handled) { client in
      try await body(DoublingCalls(caller: client.intercepted(by: interceptors)))
    }
  }

  @Test func firstInterceptorIsOutermost() async throws {
    try await Doubling.serve(handled) { client in
      let inner = client.intercepted(by: [Recording(name: "b", log: log), Recording(name: "c", log: log)])
      let calls = DoublingCalls(caller: inner.intercepted(by: [Recording(name: "a", log: log)]))
      _ = try await calls.one()
      let expected = ["a begins One", "b begins One", "c begins One", "c ends", "b ends", "a ends"]
      #expect(log.all == expected)
      _ = try await DoublingCalls.counts(calls.out())
      #expect(log.all.dropFirst(6) == expected.map { $0.replacing("One", with: "Out") }[...])
    }
  }

  @Test func callerWithoutInterceptorsIsUnchanged() async throws {
    let client = try RPCClient(ClientConfiguration(host: "127.0.0.1", port: 1))
    #expect(client.intercepted(by: []) as? RPCClient === client)
  }

  @Test(arguments: [Duration.zero, .milliseconds(20)]) func messagesAndMetadataOfEveryKindMayBeChanged(pause: Duration)
    async throws
  {
    try await withCalls([Changing(pause: pause)]) { calls in
      let changed = try await calls.all()
      #expect(changed == [[9], [3, 5, 7, 9], [1_721], (1...40).map { ($0 + 1) * 2 + 1 }])
    }
    #expect(handled.all.first == "handler added -")
  }

  @Test func changesOfNestedCallersAddUp() async throws {
    try await Doubling.serve(handled) { client in
      let caller = client.intercepted(by: [Changing()]).intercepted(by: [Changing()])
      let counts = try await DoublingCalls.counts(DoublingCalls(caller: caller).out("", 1))
      #expect(counts == [4, 6, 8])
    }
  }

  @Test func wrappedCallersKeepTheirInterceptors() async throws {
    try await Doubling.serve(handled) { client in
      let caller = Forwarding(caller: client.intercepted(by: [Changing()])).intercepted(by: [Changing()])
      let changed = try await DoublingCalls(caller: caller).all()
      #expect(changed == [[12], [4, 6, 8, 10, 12], [1_802], (1...40).map { ($0 + 2) * 2 + 2 }])
    }
  }

  @Test func callsWithOneResponseMayBeRepeated() async throws {
    try await withCalls([Repeating()]) { calls in
      _ = try await calls.one()
      _ = try await calls.into([1])
      #expect(handled.all == ["handler - -", "handler - -", "handler", "handler"])
      #expect(await failure { try await DoublingCalls.counts(calls.out("", 2)) }?.reason == "INTERCEPTOR_FAILED")
      #expect(await failure { try await DoublingCalls.counts(calls.both([1])) }?.reason == "INTERCEPTOR_FAILED")
    }
    #expect(handled.all.dropFirst(4) == ["handler", "handler"])
  }

  @Test(arguments: Failing.Place.allCases) fileprivate func errorsEndCallsOfEveryKind(place: Failing.Place) async throws
  {
    try await withCalls([Failing(place: place)]) { calls in
      #expect(await failure { try await calls.one("hang", options: CallOptions(timeout: .seconds(1))) } != nil)
      #expect(await failure { try await calls.one() }?.reason == "REFUSED")
      #expect(await failure { try await DoublingCalls.counts(calls.out("", 2)) }?.reason == "REFUSED")
      #expect(await failure { try await calls.into([1]) }?.reason == "REFUSED")
      #expect(await failure { try await DoublingCalls.counts(calls.both([1, 2])) }?.reason == "REFUSED")
    }
    if place == .before { #expect(handled.all.isEmpty) }
  }

  @Test func otherErrorsAreUnknown() async throws {
    try await withCalls([Failing(place: .before, error: Failing.Failure())]) { calls in
      let unary = await failure { try await calls.one() }
      #expect(unary?.code == .unknown && unary?.reason == "INTERCEPTOR_FAILED")
      #expect(await failure { try await DoublingCalls.counts(calls.out()) }?.reason == "INTERCEPTOR_FAILED")
    }
  }

  @Test func errorsOfServerPassInterceptors() async throws {
    try await withCalls([Recording(name: "a", log: log)]) { calls in
      #expect(await failure { try await calls.one("fail") }?.reason == "NO_NOTE")
    }
    #expect(log.all == ["a begins One", "a fails with NOT_FOUND"])
  }

  @Test func timeLimitCountsFromBeginOfCall() async throws {
    try await withCalls([Changing(pause: .milliseconds(60))]) { calls in
      let options = CallOptions(timeout: .milliseconds(50))
      #expect(await failure { try await calls.one(options: options) }?.code == .deadlineExceeded)
      #expect(await failure { try await DoublingCalls.counts(calls.out(options: options)) }?.code == .deadlineExceeded)
      #expect(handled.all.isEmpty)
    }
  }

  @Test func cancellationReachesServerAndInterceptors() async throws {
    try await withCalls([Recording(name: "a", log: log)]) { calls in
      let unary = Task { await failure { try await calls.one("hang") } }
      try await handled.wait(for: 1)
      unary.cancel()
      #expect(await unary.value?.code == .cancelled)
      try await handled.wait(for: 2)
      let stream = Task { await failure { try await DoublingCalls.counts(calls.out("hang", 1)) } }
      try await handled.wait(for: 3)
      stream.cancel()
      #expect(await stream.value?.code == .cancelled)
      try await handled.wait(for: 4)
      try await log.wait(for: 4)
    }
    #expect(log.all.filter { $0.hasPrefix("a fails") } == ["a fails with CANCELLED", "a fails with CANCELLED"])
  }

  @Test func releasedStreamIsCancelled() async throws {
    try await withCalls([Recording(name: "a", log: log)]) { calls in
      var iterator = calls.out("hang", 1).makeAsyncIterator() as ResponseStream<Note>.Iterator?
      #expect(try await iterator?.next()?.count == 2)
      iterator = nil
      try await handled.wait(for: 2)
      try await log.wait(for: 2)
    }
    #expect(log.all == ["a begins Out", "a fails with CANCELLED"])
  }

  @Test func cancelledReaderDoesNotWaitForInterceptor() async throws {
    // The interceptor ignores its cancellation.
    struct Stubborn: ClientInterceptor {
      let gate: ClientLog<String>
      func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
        await Task { try? await gate.wait(for: 1) }.value
        return try await next(call)
      }
    }
    try await withCalls([Stubborn(gate: log)]) { calls in
      let stream = Task { await failure { try await DoublingCalls.counts(calls.out("", 1)) } }
      stream.cancel()
      #expect(await stream.value?.code == .cancelled)
      log.add("open")
    }
    #expect(handled.all.isEmpty)
  }

  @Test func callsAreLogged() async throws {
    let lines = LogLines()
    try await withCalls([.logging(lines.logger)]) { calls in
      _ = try await calls.one()
      _ = try await DoublingCalls.counts(calls.out())
    }
    #expect(lines.all.map(\.message) == ["a call was made", "a call was made"])
    #expect(lines.all.map { $0.metadata["method"] } == ["test.Doubling/One", "test.Doubling/Out"])
  }
}
