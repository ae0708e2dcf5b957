import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import Dispatch
import ServiceTesting
import Synchronization
import Testing

@testable import Activities

/// Several writes in one commit. The writer is blocked until all of them wait, so that they share it.
@Suite struct PendingUpdateTests {
  private typealias Step = @Sendable (ActivitiesComponent) async throws -> Activity?

  /// Runs the steps in one commit, in order, and returns the result of each.
  private func inOneCommit(
    _ component: ActivitiesComponent, _ steps: [Step]
  ) async throws -> [Result<Activity?, RPCError>] {
    let gate = DispatchSemaphore(value: 0)
    let isHeld = Atomic(false)
    // Blocks only once, because a restarted commit runs the closure again.
    let holder = Task {
      try await component.store.write { _ in
        if !isHeld.exchange(true, ordering: .acquiringAndReleasing) { gate.wait() }
      }
    }
    try await waitUntil { isHeld.load(ordering: .acquiring) }
    var tasks: [Task<Result<Activity?, RPCError>, any Error>] = []
    for (index, step) in steps.enumerated() {
      tasks.append(
        Task {
          do {
            return .success(try await step(component))
          } catch let error as RPCError {
            return .failure(error)
          }
        })
      try await waitUntil { component.store.metrics().pendingWrites == index + 1 }
    }
    let commits = component.store.metrics().commits
    gate.signal()
    var results: [Result<Activity?, RPCError>] = []
    for task in tasks { results.append(try await task.value) }
    try await holder.value
    #expect(component.store.metrics().commits == commits + 1)
    return results
  }

  private func waitUntil(_ condition: @Sendable () -> Bool) async throws {
    // Bounded: ten seconds.
    for _ in 0..<10_000 where !condition() { try await Task.sleep(for: .milliseconds(1)) }
    try #require(condition())
  }

  private static func state(_ number: Int, _ id: String = "a", etag: String = "", loud: Bool = false) -> Step {
    { component in
      var request = try update(id, #"{"n":\#(number)}"#)
      request.etag = etag
      if loud { request.alert = alert() }
      return try await component.activities.updateActivity(request, context: anna).activity
    }
  }

  private static func end(_ id: String = "a", etag: String = "") -> Step {
    { component in
      try await component.activities.endActivity(.init(activityId: id, etag: etag), context: anna).activity
    }
  }

  private static func register(_ number: Int, installation: String = "phone") -> Step {
    { component in
      try await component.register(
        token(.activityUpdate, hex(number), activity: "a", installation: installation), anna)
      return nil
    }
  }

  /// Returns the reason of each failure and the etag of each success.
  private static func outcomes(_ results: [Result<Activity?, RPCError>]) -> [String] {
    results.map { result in
      switch result {
      case .success(let activity): activity?.etag ?? ""
      case .failure(let error): error.reason
      }
    }
  }

  private static func changes(_ component: ActivitiesComponent) throws -> Int64 {
    try component.store.readSingleBlocking {
      try $0.queryOne("SELECT max(sequence) FROM changes") { try $0.integer(0) }
    } ?? 0
  }

  private static func numbers(_ pushes: [QueuedPush]) -> [String] {
    pushes.map { push in
      let state = push.payload.firstRange(of: #""n":"#).map { push.payload[$0.upperBound...].prefix { $0.isNumber } }
      return "\(push.kind) \(state ?? "")"
    }
  }

  private func live(_ fixture: Fixture? = nil, queuedMax: Int64? = nil) async throws -> ActivitiesComponent {
    let component = try await (fixture ?? Fixture()).open(queuedMax: queuedMax)
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    return component
  }

  @Test func rejectedUpdateHasNoEffect() async throws {
    let component = try await live()
    let before = try Self.changes(component)
    let results = try await inOneCommit(
      component, [Self.state(1), Self.state(2, etag: "v1"), Self.state(3, etag: "v2"), Self.state(4, "none")])
    #expect(Self.outcomes(results) == ["v2", "ETAG_MISMATCH", "v3", "ACTIVITY_NOT_FOUND"])
    let kept = try await component.get("a", anna)
    #expect(kept.etag == "v3" && kept.contentStateJson == #"{"n":3}"#)
    let queued = try component.queued()
    #expect(Self.numbers(queued) == ["update 3"] && queued[0].timestamp == kept.apsTimestamp)
    #expect(try results[2].get()?.apsTimestamp == kept.apsTimestamp)
    // One write, one push and one entry in the change log for all of them.
    #expect(try Self.changes(component) == before + 1)
    await component.close()
  }

  @Test func laterFailureKeepsEarlierUpdates() async throws {
    let component = try await live()
    let results = try await inOneCommit(
      component,
      [
        Self.state(1), Self.end(etag: "v9"), Self.state(2), { try await $0.start(local("a"), anna) },
        Self.state(3),
      ])
    #expect(Self.outcomes(results) == ["v2", "ETAG_MISMATCH", "v3", "ACTIVITY_EXISTS", "v4"])
    #expect(try await component.get("a", anna).contentStateJson == #"{"n":3}"#)
    #expect(Self.numbers(try component.queued()) == ["update 3"])
    await component.close()
  }

  @Test func endFollowsEarlierUpdates() async throws {
    let component = try await live()
    let results = try await inOneCommit(component, [Self.state(1), Self.state(2), Self.end(), Self.state(3)])
    #expect(Self.outcomes(results) == ["v2", "v3", "v4", "ACTIVITY_ENDED"])
    let ended = try await component.get("a", anna)
    #expect(ended.status == .ended && ended.contentStateJson == #"{"n":2}"#)
    let queued = try component.queued()
    #expect(Self.numbers(queued) == ["end 2"] && queued[0].timestamp == ended.apsTimestamp)
    await component.close()
  }

  @Test func alertIsSentBetweenStates() async throws {
    let component = try await live()
    let results = try await inOneCommit(
      component, [Self.state(1), Self.state(2, loud: true), Self.state(3), Self.state(4)])
    #expect(Self.outcomes(results) == ["v2", "v3", "v4", "v5"])
    let queued = try component.queued()
    #expect(Self.numbers(queued) == ["alert 2", "update 4"])
    #expect(try #require(queued[0].timestamp) < #require(queued[1].timestamp))
    await component.close()
  }

  @Test func tokenOfTheSameCommitReceivesTheNewestState() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    let results = try await inOneCommit(
      component, [Self.state(1), Self.register(1), Self.state(2), Self.register(2, installation: "pad"), Self.state(3)])
    #expect(Self.outcomes(results) == ["v2", "", "v3", "", "v4"])
    let queued = try component.queued()
    #expect(Self.numbers(queued) == ["update 3", "update 3"] && Set(queued.map(\.target)).count == 2)
    await component.close()
  }

  @Test func batchCoalescesWithSurroundingUpdates() async throws {
    let component = try await live()
    _ = try await component.start(local("b"), anna)
    let batch: Step = { component in
      var request = BatchUpdateActivitiesRequest(requests: [
        try update("a", #"{"n":2}"#), try update("b", #"{"n":3}"#), try update("a", #"{"n":4}"#),
      ])
      request.requests[2].etag = "v9"
      let results = try await component.activities.batchUpdateActivities(request, context: anna).results
      let errors = results.compactMap { if case .error(let error) = $0.outcome { error.reason } else { nil } }
      #expect(errors == ["ETAG_MISMATCH"])
      return nil
    }
    let results = try await inOneCommit(component, [Self.state(1), batch, Self.state(5, etag: "v3")])
    #expect(Self.outcomes(results) == ["v2", "", "v4"])
    #expect(Self.numbers(try component.queued()) == ["update 5"])
    #expect(try await component.get("b", anna).contentStateJson == #"{"n":3}"#)
    await component.close()
  }

  @Test func fullQueueRejectsOnlyPushesThatNeedRoom() async throws {
    let component = try await live(queuedMax: 1)
    _ = try await component.start(local("b"), anna)
    try await component.register(token(.activityUpdate, hex(2), activity: "b"), anna)
    let results = try await inOneCommit(
      component, [Self.state(1), Self.state(2, "b"), Self.state(3, "b", loud: true), Self.state(4)])
    #expect(Self.outcomes(results) == ["v2", "PUSHES_EXHAUSTED", "PUSHES_EXHAUSTED", "v3"])
    // A push that replaces a waiting one needs no room. An alert does, and leaves nothing behind if it is rejected.
    #expect(Self.outcomes(try await inOneCommit(component, [Self.state(5), Self.state(6)])) == ["v4", "v5"])
    var batch = BatchUpdateActivitiesRequest(requests: [try update("a", #"{"n":7}"#), try update("b", #"{"n":8}"#)])
    batch.requests[0].alert = alert()
    let refused = try await component.activities.batchUpdateActivities(batch, context: anna).results
    #expect(
      refused.allSatisfy {
        if case .error(let error) = $0.outcome { error.reason == "PUSHES_EXHAUSTED" } else { false }
      })
    #expect(try await component.get("a", anna).etag == "v5")
    #expect(try await component.get("b", anna).etag == "v1")
    #expect(Self.numbers(try component.queued()) == ["update 6"])
    // The end replaces the update.
    _ = try await component.end("a", anna)
    #expect(Self.numbers(try component.queued()) == ["end 6"])
    await component.close()
  }

  @Test func batchRejectsTheStateOfADrivenActivity() async throws {
    let component = try await Fixture().open()
    let timer = StartTimerRequest(
      activityId: "t", app: app, environment: "development", origin: .local, methodName: "Run",
      sessionType: .countdown, duration: .init(seconds: 600))
    _ = try await component.timers.startTimer(timer, context: anna)
    let batch = BatchUpdateActivitiesRequest(requests: [try update("t", #"{"n":1}"#)])
    let results = try await component.activities.batchUpdateActivities(batch, context: anna).results
    guard case .error(let error) = results.first?.outcome else {
      Issue.record("a caller's state was accepted")
      return
    }
    #expect(error.reason == "ACTIVITY_DRIVEN" && error.violations.map(\.field) == ["requests[0].contentStateJson"])
    await component.close()
  }

  @Test func deliveryRoundSettlesPendingUpdatesFirst() async throws {
    let fixture = try Fixture()
    let sender = FakeSender()
    let component = try await fixture.open(sender: sender)
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    _ = try await component.update("a", #"{"n":1}"#, anna)
    let round: Step = { component in
      _ = try await component.store.write { transaction in
        try component.repository.settle(transaction)
        return try transaction.execute("UPDATE pushes SET state = 1")
      }
      return nil
    }
    let results = try await inOneCommit(component, [Self.state(2), round, Self.state(3)])
    #expect(Self.outcomes(results) == ["v3", "", "v4"])
    let queued = try component.queued()
    // The round takes the second state; the third follows with its own timestamp.
    #expect(Self.numbers(queued) == ["update 2", "update 3"])
    let answered = try results.compactMap { try $0.get()?.apsTimestamp }
    #expect(queued.compactMap(\.timestamp) == answered && answered[0] < answered[1])
    await component.close()
  }

  @Test func channelReceivesTheNewestStateOfACommit() async throws {
    let component = try await Fixture().open()
    var request = try local("a")
    request.channelId = "AAAA"
    _ = try await component.start(request, admin)
    let ask: @Sendable (Int) -> Step = { number in
      { component in try await component.update("a", #"{"n":\#(number)}"#, admin) }
    }
    let results = try await inOneCommit(component, [ask(1), ask(2)])
    #expect(Self.outcomes(results) == ["v2", "v3"])
    #expect(Self.numbers(try component.queued()) == ["broadcast 2"])
    await component.close()
  }

  @Test func channelThatStoresNothingGetsNoExpiration() async throws {
    let component = try await Fixture().open()
    for (id, policy) in [("AAAA", MessageStoragePolicy.noneValue), ("BBBB", .mostRecent)] {
      let channel = BroadcastChannel(id: id, app: app, environment: "development", storagePolicy: policy)
      _ = try await component.store.write { try channel.remember($0, atMs: 1) }
      var request = try local(id)
      request.channelId = id
      _ = try await component.start(request, admin)
      _ = try await component.update(id, #"{"n":1}"#, admin)
    }
    let expirations = try component.store.readSingleBlocking { transaction in
      try transaction.query("SELECT expiration_ms FROM pushes ORDER BY lane") { try $0.integer(0) }
    }
    // APNs stores the newest message until the activity would leave the Lock Screen.
    #expect(expirations == [0, Fixture.startMs + 12 * 3_600_000])
    await component.close()
  }

  @Test func possiblySentPushKeepsItsTimestampAfterACrash() async throws {
    let fixture = try Fixture()
    var component = try await live(fixture)
    let sent = try await component.update("a", #"{"n":1}"#, anna)
    // The process ends after the push was taken and before its response.
    try await component.store.write { try $0.execute("UPDATE pushes SET state = 1") }
    await component.close()
    component = try await fixture.open()
    _ = try await component.delivery.dispatcher.round()
    let newer = try await component.update("a", #"{"n":2}"#, anna)
    #expect(newer.apsTimestamp > sent.apsTimestamp)
    let queued = try component.queued()
    #expect(Self.numbers(queued) == ["update 2"] && queued[0].timestamp == newer.apsTimestamp)
    await component.close()
  }
}
