import CampanileAPI
import CampanileBase
import CampanileRPC
import TestSupport
import Testing

@testable import Gateway

/// Many watches in one stream.
@Suite struct WatchManyTests {
  private static let expand = "campanile.rpc.v1.EchoService/Expand"

  private func with(
    extra: [any RPCService] = [], configure: (inout GatewayConfiguration, HostPort) -> Void = { _, _ in },
    _ body: (Harness, WatchServiceClient) async throws -> Void
  ) async throws {
    let backend = try await Backend(extra: extra)
    let harness = try await Harness(backends: [backend.address]) { configure(&$0, backend.address) }
    let client = WatchServiceClient(try harness.client(token: try await harness.key().secret))
    do { try await body(harness, client) } catch {
      await harness.stop()
      throw error
    }
    await harness.stop()
    await backend.server.shutdown()
  }

  private func watch(_ id: String, count: Int = 1, _ method: String = expand) -> Watch {
    Watch(id: id, method: method, requestJson: #"{"payload":"\#(id)","count":\#(count)}"#)
  }

  @Test("each watch has its messages in order, and its own end or failure")
  func watchesAreIndependent() async throws {
    try await with { _, client in
      let watches = [
        watch("a", count: 3), watch("b", count: 40), watch("c", "campanile.rpc.v1.EchoService/Echo"),
        watch("d", "no.Such/Method"), Watch(id: "e", method: Self.expand, requestJson: "[1]"),
        Watch(id: "f", method: Self.expand, requestJson: #"{"count":-5}"#),
        watch("g", "campanile.gateway.v1.WatchService/WatchMany"),
      ]
      var started: [String] = []
      var messages: [String: [String]] = [:]
      var ends: [String: String] = [:]
      for try await event in client.watchMany(.init(watches: watches)) {
        switch event.event {
        case .started(let value): started.append(value.streamId)
        case .message(let value): messages[event.watchId, default: []].append(value.messageJson)
        case .ended: ends[event.watchId] = "ended"
        case .failed(let value): ends[event.watchId] = value.reason
        case nil: Issue.record("an empty event")
        }
        if ends.count == watches.count { break }
      }
      #expect(started.count == 1)
      #expect(messages["a"]?.count == 3 && messages["b"]?.count == 40)
      #expect(messages["b"]?.last?.contains("39") == true)
      #expect(ends["a"] == "ended" && ends["b"] == "ended")
      #expect(ends["c"] == "WATCH_UNSUPPORTED" && ends["d"] == "WATCH_UNSUPPORTED" && ends["g"] == "WATCH_UNSUPPORTED")
      #expect(ends["e"] == "BODY_NOT_OBJECT")
      #expect(ends["f"] != nil && ends["f"] != "ended")
    }
  }

  @Test("a watch that never pauses leaves turns to others, and its service waits for the caller")
  func busyWatchesLeaveTurns() async throws {
    let sent = Counter()
    try await with(
      extra: [EndlessSource(sent: sent)],
      configure: { configuration, address in
        configuration.backends.append(
          BackendConfiguration(name: "source", servicePrefix: "test.Source", addresses: [address]))
        configuration.methods.append(EndlessSource.method)
      }
    ) { _, client in
      var read = 0
      var isEnded = false
      var iterator = client.watchMany(
        .init(watches: [Watch(id: "busy", method: EndlessSource.method.path), watch("calm", count: 20)])
      ).makeAsyncIterator()
      while let event = try await iterator.next(), !isEnded {
        read += 1
        if event.watchId == "calm", case .ended = event.event { isEnded = true }
        if read > 5_000 { break }
      }
      #expect(isEnded)
      // The credit of one stream in the gateway, of one of its callers, and what was read.
      let before = sent.value
      try await Task.sleep(for: .milliseconds(100))
      #expect(sent.value <= read + 160, "\(before) \(sent.value) \(read)")
    }
  }

  @Test("watches are added and removed while the stream is open")
  func watchesChange() async throws {
    try await with { harness, client in
      var iterator = client.watchMany(.init()).makeAsyncIterator()
      guard case .started(let started)? = try await iterator.next()?.event else {
        return #expect(Bool(false), "not started")
      }
      let id = started.streamId
      let slow = Watch(id: "s", method: Self.expand, requestJson: #"{"count":1000000,"intervalMs":20}"#)
      _ = try await client.updateWatches(.init(streamId: id, add: [slow]))
      #expect(try await iterator.next()?.watchId == "s")
      // All or nothing.
      _ = await expectFailure(.alreadyExists, "WATCH_ID_IN_USE") {
        try await client.updateWatches(.init(streamId: id, add: [watch("t"), slow]))
      }
      let many = (0..<64).map { Watch(id: "m\($0)", method: Self.expand) }
      _ = await expectFailure(.resourceExhausted, "WATCHES_EXHAUSTED") {
        try await client.updateWatches(.init(streamId: id, add: many))
      }
      _ = await expectFailure(.invalidArgument, "WATCH_ID_DUPLICATE") {
        try await client.updateWatches(.init(streamId: id, add: [watch("t"), watch("t")]))
      }
      // Removed and added in one call, and unknown ids.
      _ = try await client.updateWatches(.init(streamId: id, add: [watch("s", count: 1)], removeIds: ["s", "unknown"]))
      var last: WatchManyResponse?
      while let event = try await iterator.next() {
        last = event
        if case .ended = event.event { break }
      }
      #expect(last?.watchId == "s")
      _ = await expectFailure(.notFound, "WATCH_STREAM_NOT_FOUND") {
        try await client.updateWatches(.init(streamId: "other", add: []))
      }
      // A stream belongs to the credential that opened it, even if another one has the same principal.
      for secret in [try await harness.key().secret, try await harness.key("user/bob").secret] {
        let other = WatchServiceClient(try harness.client(token: secret))
        _ = await expectFailure(.notFound, "WATCH_STREAM_NOT_FOUND") {
          try await other.updateWatches(.init(streamId: id, add: []))
        }
      }
    }
  }

  @Test("a watch keeps its place until its end was read, and a removed one leaves nothing")
  func unreadWatchesKeepTheirPlaces() async throws {
    try await with { _, client in
      var iterator = client.watchMany(.init()).makeAsyncIterator()
      guard case .started(let started)? = try await iterator.next()?.event else {
        return #expect(Bool(false), "not started")
      }
      let id = started.streamId
      // More than the stream's credit, so that the ends wait in the gateway.
      let failing = (0..<64).map { watch("f\($0)", "no.Such/Method") }
      _ = try await client.updateWatches(.init(streamId: id, add: failing))
      _ = await expectFailure(.resourceExhausted, "WATCHES_EXHAUSTED") {
        try await client.updateWatches(.init(streamId: id, add: failing.map { watch("x\($0.id)", "no.Such/Method") }))
      }
      // The last one is removed and added again: its first end does not arrive.
      _ = try await client.updateWatches(.init(streamId: id, add: [watch("f63", count: 2)], removeIds: ["f63"]))
      var ends: [String: Int] = [:]
      var messages = 0
      while ends.count < 64, let event = try await iterator.next() {
        switch event.event {
        case .failed, .ended: ends[event.watchId, default: 0] += 1
        case .message: messages += 1
        default: break
        }
      }
      #expect(ends.count == 64 && ends.values.allSatisfy { $0 == 1 } && messages == 2, "\(ends) \(messages)")
      // Their places are free again.
      _ = try await client.updateWatches(.init(streamId: id, add: failing))
    }
  }

  @Test("a gateway that drains ends the stream, so that the drain need not wait for it")
  func drainEndsTheStream() async throws {
    try await with { harness, client in
      var iterator = client.watchMany(.init(watches: [watch("a", count: 1_000_000)])).makeAsyncIterator()
      _ = try await iterator.next()
      harness.gateway.endStreams()
      _ = await expectFailure(.unavailable, "GATEWAY_DRAINING") { while try await iterator.next() != nil {} }
    }
  }

  @Test("a watch needs the scope of its method, and the stream ends with its credential")
  func watchesNeedTheirScope() async throws {
    try await with { harness, _ in
      let made = try await harness.key("user/weak", scopes: ["sync:read"])
      let weak = WatchServiceClient(try harness.client(token: made.secret))
      var iterator = weak.watchMany(.init(watches: [watch("a")])).makeAsyncIterator()
      _ = try await iterator.next()
      guard case .failed(let failure)? = try await iterator.next()?.event else {
        return #expect(Bool(false), "not refused")
      }
      #expect(failure.reason == "SCOPE_MISSING" && failure.code == 7)
      _ = try await harness.admin().revokeApiKey(.init(keyId: made.apiKey?.id ?? ""))
      _ = await expectFailure(.unauthenticated, "CREDENTIAL_REVOKED") { _ = try await iterator.next() }
      let anonymous = WatchServiceClient(try harness.client())
      _ = await expectFailure(.unauthenticated, "CREDENTIAL_MISSING") {
        for try await _ in anonymous.watchMany(.init()) {}
      }
    }
  }

  @Test("the operator's programs watch for the caller that they name")
  func trustedCallersAreNamed() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let client = WatchServiceClient(try harness.client(token: internalToken))
    var options = CallOptions()
    options.metadata.add("user/named", for: Principal.metadataKey)
    for try await event in client.watchMany(.init(watches: [watch("a")]), options: options) {
      if case .ended = event.event { break }
      if case .failed(let failure) = event.event {
        Issue.record("\(failure)")
        break
      }
    }
    #expect(backend.seen.last?.principal?.name == "user/named")
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test("streams end with their callers, and a principal has a limited number")
  func streamsAreLimited() async throws {
    try await with { harness, client in
      var open: [ResponseStream<WatchManyResponse>.AsyncIterator] = []
      for _ in 0..<WatchStreams.perPrincipalMax {
        var iterator = client.watchMany(.init()).makeAsyncIterator()
        _ = try await iterator.next()
        open.append(iterator)
      }
      _ = await expectFailure(.resourceExhausted, "WATCH_STREAMS_EXHAUSTED") {
        for try await _ in client.watchMany(.init()) {}
      }
      open.removeLast()
      try await eventually("an ended stream makes room") {
        var iterator = client.watchMany(.init()).makeAsyncIterator()
        return (try? await iterator.next()) != nil
      }
    }
  }

  @Test func tokensResumeWatches() throws {
    func token(_ text: String) -> String { Array(text.utf8).withUnsafeBytes { WatchMessages.resumeToken(of: $0) } }
    #expect(token(#"{"change":{"resumeToken":"inner"},"resumeToken":"r1"}"#) == "r1")
    #expect(token(#"{"sequence":"17","update":{}}"#) == "sequence:17")
    #expect(token(#"{"started":{}}"#) == "" && token("{}") == "" && token("") == "" && token("[]") == "")
    func request(_ text: String, _ token: String) throws -> String {
      String(decoding: try WatchMessages.request(text, resumingAfter: token), as: UTF8.self)
    }
    #expect(try request("", "") == "{}")
    #expect(try request(#"{"bucketId":"b"}"#, "") == #"{"bucketId":"b"}"#)
    #expect(try request("", "a\"b") == #"{"resumeToken":"a\"b"}"#)
    #expect(
      try request(#"{ "resume_token":"x", "a" : [1, {"resumeToken":"y"}] ,"resumeToken":"z"}"#, "t")
        == #"{"a":[1, {"resumeToken":"y"}],"resumeToken":"t"}"#)
    #expect(try request(#"{"afterSequence":"1","x":1}"#, "sequence:5") == #"{"x":1,"afterSequence":"5"}"#)
    for text in ["[]", "{", "1", "{}x"] {
      #expect(throws: RPCError.self) { try WatchMessages.request(text, resumingAfter: "t") }
    }
  }
}
