import CampanileBase
import CampanileCodec
import Logging
import Testing

@testable import CampanileRPC

/// Records the begin, the messages and the end of calls.
private struct Recording: ServerInterceptor {
  let name: String
  let log: ClientLog<String>

  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response {
    log.add("\(name) begins \(context.method.name)")
    do {
      let response = try await next(context)
      log.add("\(name) ends")
      return response
    } catch {
      log.add("\(name) fails with \((error as? RPCError)?.code.name ?? "\(type(of: error))")")
      throw error
    }
  }

  func intercept<Message: ProtoMessage>(request: Message, context: CallContext) throws -> Message {
    log.add("\(name) request \(String(decoding: request.jsonUTF8Bytes(), as: UTF8.self))")
    return request
  }

  func intercept<Message: ProtoMessage>(response: Message, context: CallContext) throws -> Message {
    log.add("\(name) response \(String(decoding: response.jsonUTF8Bytes(), as: UTF8.self))")
    return response
  }
}

/// Throws an error at one place of a call.
private struct Failing: ServerInterceptor {
  enum Place { case before, after, request, response }
  struct Failure: Error {}
  let place: Place
  var error: any Error = RPCError(.permissionDenied, "refused", reason: "REFUSED")

  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response {
    if place == .before { throw error }
    let response = try await next(context)
    if place == .after { throw error }
    return response
  }

  func intercept<Message: ProtoMessage>(request: Message, context: CallContext) throws -> Message {
    if place == .request { throw error }
    return request
  }

  func intercept<Message: ProtoMessage>(response: Message, context: CallContext) throws -> Message {
    if place == .response { throw error }
    return response
  }
}

/// Adds metadata and a principal.
private struct Adding: ServerInterceptor {
  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response {
    var context = context
    context.metadata.add("added", for: "x-added")
    context.principal = Principal("user/anna")
    return try await next(context)
  }
}

/// Continues each call twice.
private struct Repeating: ServerInterceptor {
  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response {
    _ = try await next(context)
    return try await next(context)
  }
}

/// Adds one to the count of every message.
private struct Incrementing: ServerInterceptor {
  func intercept<Message: ProtoMessage>(request: Message, context: CallContext) throws -> Message {
    Note.incremented(request)
  }
  func intercept<Message: ProtoMessage>(response: Message, context: CallContext) throws -> Message {
    Note.incremented(response)
  }
}

extension Note {
  /// Returns a note with its count increased by one, and any other message unchanged.
  static func incremented<Message>(_ message: Message) -> Message {
    guard let note = message as? Note else { return message }
    return Note(note.text, count: note.count + 1) as? Message ?? message
  }
}

/// A server's interceptors, over sockets.
@Suite(.timeLimit(.minutes(1))) struct ServerInterceptorTests {
  private let log = ClientLog<String>()

  @Test func handlersAreWrappedOnlyIfThereAreInterceptors() {
    let services = [Doubling(log: log)]
    #expect(MethodRegistry(services).interceptors == nil)
    #expect(MethodRegistry(services, interceptors: []).interceptors == nil)
    #expect(MethodRegistry(services, interceptors: [Adding()]).interceptors?.all.count == 1)
  }

  @Test func firstInterceptorIsOutermost() async throws {
    let interceptors = ["a", "b"].map { Recording(name: $0, log: log) }
    try await Doubling.serve(log, interceptors: interceptors) { client in
      _ = try await DoublingCalls(caller: client).one("", 2)
    }
    #expect(
      log.all == [
        "a begins One", "b begins One", #"a request {"count":2}"#, #"b request {"count":2}"#, "handler - -",
        #"b response {"count":4}"#, #"a response {"count":4}"#, "b ends", "a ends",
      ])
  }

  @Test func messagesOfEveryKindMayBeChanged() async throws {
    try await Doubling.serve(log) { client in
      let plain = try await DoublingCalls(caller: client).all()
      #expect(plain == [[6], [2, 4, 6], [1_640], (1...40).map { $0 * 2 }])
    }
    try await Doubling.serve(log, interceptors: [Incrementing()]) { client in
      let changed = try await DoublingCalls(caller: client).all()
      #expect(changed == [[9], [3, 5, 7, 9], [1_721], (1...40).map { ($0 + 1) * 2 + 1 }])
    }
  }

  @Test(arguments: [Failing.Place.before, .request]) fileprivate func refusedCallsDoNotReachHandlers(
    place: Failing.Place
  )
    async throws
  {
    try await Doubling.serve(log, interceptors: [Failing(place: place)]) { client in
      let calls = DoublingCalls(caller: client)
      #expect(await failure { try await calls.one() }?.reason == "REFUSED")
      #expect(await failure { try await DoublingCalls.counts(calls.out()) }?.reason == "REFUSED")
      #expect(await failure { try await calls.into([1]) }?.reason == "REFUSED")
      #expect(await failure { try await DoublingCalls.counts(calls.both([1])) }?.reason == "REFUSED")
    }
    // The handlers of request streams begin before they read.
    #expect(log.all == (place == .before ? [] : ["handler", "handler"]))
  }

  @Test(arguments: [Failing.Place.after, .response]) fileprivate func errorsReplaceResponses(place: Failing.Place)
    async throws
  {
    try await Doubling.serve(log, interceptors: [Failing(place: place)]) { client in
      let calls = DoublingCalls(caller: client)
      #expect(await failure { try await calls.one() }?.reason == "REFUSED")
      #expect(await failure { try await DoublingCalls.counts(calls.out("", 2)) }?.reason == "REFUSED")
      #expect(await failure { try await calls.into([1]) }?.reason == "REFUSED")
      #expect(await failure { try await DoublingCalls.counts(calls.both([1, 2])) }?.reason == "REFUSED")
    }
  }

  @Test func streamsAreContinuedOnce() async throws {
    try await Doubling.serve(log, interceptors: [Repeating()]) { client in
      let calls = DoublingCalls(caller: client)
      #expect(await failure { try await DoublingCalls.counts(calls.out("", 2)) }?.reason == "INTERCEPTOR_FAILED")
      #expect(await failure { try await calls.into([1]) }?.reason == "INTERCEPTOR_FAILED")
      #expect(await failure { try await DoublingCalls.counts(calls.both([1])) }?.reason == "INTERCEPTOR_FAILED")
    }
    #expect(log.all == ["handler", "handler", "handler"])
  }

  @Test func handlersReceiveAddedMetadataAndPrincipal() async throws {
    try await Doubling.serve(log, interceptors: [Adding()]) { client in
      _ = try await DoublingCalls(caller: client).one()
    }
    #expect(log.all == ["handler added user/anna"])
  }

  @Test func errorsOfHandlersPassInterceptors() async throws {
    try await Doubling.serve(log, interceptors: [Recording(name: "a", log: log)]) { client in
      let error = await failure { try await DoublingCalls(caller: client).one("fail") }
      #expect(error?.code == .notFound && error?.reason == "NO_NOTE")
    }
    #expect(log.all.last == "a fails with NOT_FOUND")
  }

  @Test func errorWithoutFormOnTheWireBecomesInternal() async throws {
    let lines = LogLines()
    let failing = Failing(place: .before, error: Failing.Failure())
    try await Doubling.serve(log, interceptors: [failing], logger: lines.logger) { client in
      #expect(await failure { try await DoublingCalls(caller: client).one() }?.reason == "INTERNAL")
    }
    #expect(lines.all.map(\.message).contains("a handler failed"))
  }

  @Test func deadlineReachesHandlerThroughInterceptors() async throws {
    try await Doubling.serve(log, interceptors: [Recording(name: "a", log: log)]) { client in
      let calls = DoublingCalls(caller: client)
      // Long enough for the handler to begin on a busy machine.
      let options = CallOptions(timeout: .seconds(2))
      #expect(await failure { try await calls.one("hang", options: options) }?.code == .deadlineExceeded)
      try await log.wait(for: 5)
    }
    #expect(log.all.suffix(2) == ["handler cancelled", "a fails with CancellationError"])
  }

  @Test func cancellationReachesHandlerThroughInterceptors() async throws {
    try await Doubling.serve(log, interceptors: [Recording(name: "a", log: log)]) { client in
      var iterator = DoublingCalls(caller: client).out("hang", 1).makeAsyncIterator() as ResponseStream<Note>.Iterator?
      #expect(try await iterator?.next()?.count == 2)
      iterator = nil
      try await log.wait(for: 6)
    }
    #expect(log.all.suffix(2) == ["handler cancelled", "a ends"])
  }

  @Test func callsAreLogged() async throws {
    let lines = LogLines()
    try await Doubling.serve(log, interceptors: [Adding(), .logging(lines.logger)]) { client in
      let calls = DoublingCalls(caller: client)
      _ = try await calls.one()
      _ = await failure { try await calls.one("fail") }
    }
    #expect(lines.all.map(\.message) == ["a call was served", "a call was served"])
    #expect(lines.all.map { $0.metadata["code"] } == ["OK", "NOT_FOUND"])
    #expect(lines.all.map { $0.metadata["method"] } == ["test.Doubling/One", "test.Doubling/One"])
    #expect(lines.all.map { $0.metadata["principal"] } == ["user/anna", "user/anna"])
    #expect(lines.all.allSatisfy { $0.metadata["durationMs"] != nil })
  }
}
