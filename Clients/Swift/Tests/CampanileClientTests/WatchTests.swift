import Testing

@testable import CampanileClient
import CampanileNotifications
import CampanileSync

/// Watches over a fake caller.
struct WatchTests {
  private let started = #"{"resumeToken":"t1","started":{}}"#
  private let lost = RPCError(.unavailable, "lost")
  /// The reasons and delays of lost connections.
  private let waits = Locked<[String]>([])

  private func change(_ token: String, bucket: String) -> String {
    #"{"resumeToken":"\#(token)","change":{"bucketDeleted":{"bucketId":"\#(bucket)"}}}"#
  }

  private func watch(
    _ caller: FakeCaller, token: String = "", clock: TestClock = TestClock(), reconnect: ReconnectSignal = .init()
  ) -> Watch<WatchNotificationsRequest, WatchNotificationsResponse> {
    Watch(
      NotificationsServiceMethods.watchNotifications, .init(resumeToken: token, bucketId: "b"), caller: caller,
      environment: clock.environment(), reconnect: reconnect)
  }

  /// Returns the first events as short texts.
  private func events(
    _ watch: Watch<WatchNotificationsRequest, WatchNotificationsResponse>, _ count: Int
  ) async throws -> [String] {
    var found: [String] = []
    for try await event in watch {
      switch event {
      case .started(let token): found.append("started \(token)")
      case .change(let change, let token):
        guard case .bucketDeleted(let deleted)? = change.change else { continue }
        found.append("\(deleted.bucketId) \(token)")
      case .reached(let token): found.append("reached \(token)")
      case .gap(let error): found.append("gap \(error.reason)")
      case .waiting(let error, let delayMs):
        waits.withLock { $0.append("\(error.reason) \(delayMs)") }
        continue
      }
      if found.count == count { break }
    }
    return found
  }

  @Test func watchResumesBehindTheLastChange() async throws {
    let caller = FakeCaller(streams: [
      ([started, change("t2", bucket: "a")], lost), ([], lost), ([started, change("t3", bucket: "b")], nil),
      ([change("t4", bucket: "c")], nil),
    ])
    let found = try await events(watch(caller), 5)
    #expect(found == ["started t1", "a t2", "started t1", "b t3", "c t4"])
    #expect(waits.withLock { $0 } == ["UNAVAILABLE 200", "UNAVAILABLE 400", "STREAM_ENDED 200"])
    #expect(
      caller.streamRequests == [
        #"{"bucketId":"b"}"#, #"{"resumeToken":"t2","bucketId":"b"}"#, #"{"resumeToken":"t2","bucketId":"b"}"#,
        #"{"resumeToken":"t3","bucketId":"b"}"#,
      ])
  }

  @Test func storedTokenIsUsed() async throws {
    let caller = FakeCaller(streams: [([change("t8", bucket: "a")], nil)])
    #expect(try await events(watch(caller, token: "t7"), 1) == ["a t8"])
    #expect(caller.streamRequests == [#"{"resumeToken":"t7","bucketId":"b"}"#])
  }

  @Test func gapIsAValueBeforeTheChangesThatFollow() async throws {
    let tooOld = RPCError(.outOfRange, "too old", reason: "TOKEN_TOO_OLD")
    let caller = FakeCaller(streams: [([], tooOld), ([started, change("t2", bucket: "a")], nil)])
    #expect(try await events(watch(caller, token: "t0"), 3) == ["gap TOKEN_TOO_OLD", "started t1", "a t2"])
    #expect(caller.streamRequests == [#"{"resumeToken":"t0","bucketId":"b"}"#, #"{"bucketId":"b"}"#])
  }

  @Test func eventOfANewerServerMovesTheToken() async throws {
    let caller = FakeCaller(streams: [
      ([#"{"resumeToken":"t5","newer":{}}"#], lost), ([change("t6", bucket: "a")], nil),
    ])
    #expect(try await events(watch(caller), 1) == ["a t6"])
    #expect(caller.streamRequests.last == #"{"resumeToken":"t5","bucketId":"b"}"#)
  }

  @Test func lastingErrorIsThrownAgainAndAgain() async throws {
    let denied = RPCError(.permissionDenied, "no", reason: "SCOPE_MISSING")
    let caller = FakeCaller(streams: [([started], denied)])
    var iterator = watch(caller).makeAsyncIterator()
    _ = try await iterator.next()
    for _ in 0..<2 {
      do {
        _ = try await iterator.next()
        Issue.record("no error")
      } catch { #expect((error as? RPCError)?.reason == "SCOPE_MISSING") }
    }
    #expect(caller.streamRequests.count == 1)
  }

  @Test func signalEndsThePause() async throws {
    let caller = FakeCaller(streams: [([], lost), ([started], nil)])
    let reconnect = ReconnectSignal()
    let watch = watch(caller, clock: TestClock(parksFromMs: 1), reconnect: reconnect)
    let task = Task { try await events(watch, 1) }
    try await eventually("the second connection") {
      reconnect.notify()
      return caller.streamRequests.count == 2
    }
    #expect(try await task.value == ["started t1"])
  }

  @Test func cancellationEndsTheWatch() async throws {
    let caller = FakeCaller()
    let watch = watch(caller)
    let task = Task { try await events(watch, 1) }
    try await eventually("a connection") { caller.streamRequests.count == 1 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func messagesOfADeviceResumeBySequence() async throws {
    let first = #"{"sequence":"41","update":{}}"#
    let caller = FakeCaller(streams: [([first], lost), ([#"{"sequence":"42","started":{}}"#], nil)])
    let watch = Watch<WatchUpdatesRequest, WatchUpdatesResponse>(
      DevicesServiceMethods.watchUpdates, .init(deviceId: "d"), caller: caller, environment: TestClock().environment())
    var tokens: [String] = []
    for try await event in watch {
      switch event {
      case .change(_, let token): tokens.append(token)
      case .started(let token): tokens.append("started \(token)")
      default: break
      }
      if tokens.count == 2 { break }
    }
    #expect(tokens == ["41", "started 42"])
    #expect(caller.streamRequests == [#"{"deviceId":"d"}"#, #"{"deviceId":"d","afterSequence":"41"}"#])
  }
}
