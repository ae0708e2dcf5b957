import CampanileAPI
import CampanileBase
import CampanileCrypto
import CampanileService
import CampanileStore
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Activities

/// Two processes of Activities on one database of PostgreSQL, which know what the other has done.
@Suite(.enabled(if: TestStore.usesPostgreSQL, "it concerns PostgreSQL")) struct SharedDeliveryTests {
  private static let minute: Int64 = 60_000
  private static let id = SigningKeyID(teamID: DeliveryHarness.team, keyID: "KEY1111111")

  /// Runs `body` with two processes, of which the second one's clock is behind by some milliseconds.
  private func withPair(
    limits: DeliveryLimits = DeliveryLimits(), behindMs: Int64 = 0,
    _ body: (DeliveryHarness, DeliveryHarness) async throws -> Void
  ) async throws {
    let first = try await DeliveryHarness(limits: limits)
    let clock = behindMs == 0 ? first.clock : TestClock(first.clock.nowMs - behindMs)
    let second = try await DeliveryHarness(folder: first.folder, clock: clock, limits: limits)
    let following = [first, second].map { harness in Task { await harness.running.follow() } }
    let result: Result<Void, any Error>
    do { result = .success(try await body(first, second)) } catch { result = .failure(error) }
    for task in following {
      task.cancel()
      await task.value
    }
    await second.close()
    await first.remove()
    try result.get()
  }

  private func key(_ keyID: String, app: String) throws -> SigningKeys.Entry {
    SigningKeys.Entry(
      description: SigningKey(teamId: DeliveryHarness.team, keyId: keyID, apps: [app]),
      key: try ES256PrivateKey.generate())
  }

  @Test("a key that is added at one process signs at the other, and a revoked one signs nowhere")
  func keysAreShared() async throws {
    try await withPair { first, second in
      let entry = try key("KEYADDED11", app: "com.example.added")
      try await first.running.addedKeys.put(entry)
      // A call there reads the keys before it is refused, so it need not wait for the announcement.
      _ = try await second.running.addedKeys.refresh()
      #expect(second.delivery.hasRoute(app: "com.example.added", environment: "production"))
      let found = try #require(second.delivery.keys.entry(entry.id))
      #expect(try found.key.privatePEM() == entry.key.privatePEM())
      #expect(found.description == entry.description)
      try await second.running.addedKeys.revoke(entry.id, atMs: 1)
      try await eventually("the key is revoked") { first.delivery.keys.isRevoked(entry.id) }
      #expect(
        await refusal { try await first.running.addedKeys.put(entry) } == "FAILED_PRECONDITION SIGNING_KEY_REVOKED")
      #expect(try first.count("signing_keys") == 0)
      // An announcement suffices.
      let other = try key("KEYOTHER11", app: "com.example.other")
      try await second.running.addedKeys.put(other)
      try await eventually("the key is known") { first.delivery.keys.entry(other.id) != nil }
    }
  }

  @Test("keys in files of an earlier database are taken over")
  func keysInFilesAreTakenOver() async throws {
    let first = try await DeliveryHarness()
    let entry = try key("KEYFILE111", app: "com.example.file")
    let directory = first.delivery.configuration.addedKeysDirectory
    try SigningKeyFiles(directory: directory, teamID: nil).write(entry.description, pem: entry.key.privatePEM())
    await first.close()
    let second = try await DeliveryHarness(folder: first.folder, clock: first.clock)
    #expect(second.delivery.keys.entry(entry.id) != nil)
    #expect(try second.count("signing_keys") == 1)
    try await second.running.addedKeys.revoke(entry.id, atMs: 1)
    await second.close()
    let third = try await DeliveryHarness(folder: first.folder, clock: first.clock)
    #expect(third.delivery.keys.entry(entry.id) == nil)
    await third.remove()
  }

  @Test(
    "processes use one provider token, and renew it once", arguments: [0, 50] as [Int64], ["first", "second"])
  func providerTokenIsShared(behindMs: Int64, issuer: String) async throws {
    try await withPair(behindMs: behindMs) { first, second in
      // Its age is measured by the clock of the process that has issued it.
      _ = try await (issuer == "first" ? first : second).running.tokens.token(of: Self.id)
      func tokens() async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String.self) { group in
          for harness in [first, second, first, second] {
            group.addTask { try await harness.running.tokens.token(of: Self.id).token }
          }
          return try await group.reduce(into: Set()) { $0.insert($1) }
        }
      }
      let initial = try await tokens()
      #expect(initial.count == 1)
      func advance(_ minutes: Int64) {
        first.clock.advance(by: .milliseconds(minutes * Self.minute))
        if behindMs > 0 { second.clock.advance(by: .milliseconds(minutes * Self.minute)) }
      }
      advance(10)
      // APNs has rejected it too early, so the other process waits as well.
      let token = try #require(initial.first)
      #expect(try await second.running.tokens.rejected(token, of: Self.id) > second.clock.nowMs)
      advance(10)
      _ = try await first.running.tokens.rejected(token, of: Self.id)
      let renewed = try await first.running.tokens.token(of: Self.id).token
      #expect(renewed != token)
      // The other process hears of the rejection later, and issues none.
      #expect(try await second.running.tokens.rejected(token, of: Self.id) == second.clock.nowMs)
      #expect(try await second.running.tokens.token(of: Self.id).token == renewed)
      advance(41)
      let later = try await tokens()
      #expect(later.count == 1 && !later.contains(renewed))
    }
  }

  private struct Enough: Error {}

  private func watch(
    _ harness: DeliveryHarness, _ resumeToken: String = "", count: Int,
    started: @escaping @Sendable () async throws -> Void = {}
  ) async throws -> [WatchPushesResponse] {
    let found = Mutex<[WatchPushesResponse]>([])
    do {
      try await PushWatch(store: harness.store, ends: harness.delivery.notifier.ends).run(
        .init(resumeToken: resumeToken)
      ) { response in
        let number = found.withLock {
          $0.append(response)
          return $0.count
        }
        if number == 1 { try await started() }
        if number >= count { throw Enough() }
      }
    } catch is Enough {}
    return found.withLock { $0 }
  }

  private func ids(_ responses: [WatchPushesResponse]) -> [String] {
    responses.compactMap { if case .push(let push)? = $0.event { push.apnsId } else { nil } }
  }

  @Test("a watch at one process sees the ends of pushes that another one sends, and resumes anywhere")
  func endsAreWatchedEverywhere() async throws {
    try await withPair { first, second in
      @Sendable func push(_ lanes: [String]) async throws {
        for lane in lanes { try await second.enqueue(second.order(lane, .alert)) }
        for request in try await first.send() { first.sender.answer(request, status: 200) }
        _ = try await first.send()
      }
      let seen = try await watch(second, count: 4) { try await push(["a1", "a2", "a3"]) }
      #expect(Set(ids(seen)).count == 3)
      let resumed = try await watch(first, seen[1].resumeToken, count: 3)
      #expect(ids(resumed) == Array(ids(seen).dropFirst()))
      try await push(["b1"])
      let later = try await watch(second, resumed[2].resumeToken, count: 2)
      #expect(ids(later).count == 1)
      // The newest remain, also for a process that starts later.
      _ = try await first.running.maintain(nowMs: first.clock.nowMs)
      #expect(try first.count("push_ends") == 4)
    }
  }

  @Test("the limit of the queue counts the pushes of all processes")
  func queueIsCountedTogether() async throws {
    var limits = DeliveryLimits()
    limits.queuedMax = 3
    try await withPair(limits: limits) { first, second in
      for lane in ["a1", "a2", "a3"] { try await second.enqueue(second.order(lane, .alert)) }
      try await eventually("the pushes of the other process are counted") {
        first.delivery.notifier.queuedCount == 3
      }
      #expect(
        await refusal { try await first.enqueue(first.order("a4", .alert)) } == "RESOURCE_EXHAUSTED PUSHES_EXHAUSTED")
      for request in try await first.send() { first.sender.answer(request, status: 200) }
      _ = try await first.send()
      // The process that has queued them hears that they were sent.
      try await eventually("the queue is empty") { second.delivery.notifier.queuedCount == 0 }
      try await second.enqueue(second.order("a4", .alert))
    }
  }

  @Test("updates keep their distance, whichever process queues them")
  func updatesKeepTheirDistance() async throws {
    try await withPair { first, second in
      try await first.enqueue(first.order("a1", .update, "1"))
      let request = try #require(try await first.send().first)
      first.sender.answer(request, status: 200)
      _ = try await first.send()
      first.clock.advance(by: .milliseconds(100))
      try await second.enqueue(second.order("a1", .update, "2"))
      #expect(try await first.sendTexts().isEmpty)
      first.clock.advance(by: .milliseconds(800))
      // Replaces the waiting one.
      try await second.enqueue(second.order("a1", .update, "3"))
      #expect(try await first.sendTexts().isEmpty)
      first.clock.advance(by: .milliseconds(100))
      #expect(try await first.sendTexts() == ["3"])
    }
  }

  @Test("a push of an app that the sending process has not seen is sent at once")
  func newAppIsAnnounced() async throws {
    try await withPair { first, second in
      #expect(try await first.send().isEmpty)
      let work = Task { await first.running.run() }
      // The loop has nothing to do and waits.
      try await Task.sleep(for: .milliseconds(50))
      try await second.enqueue(second.order("n1", .alert, "new", app: "com.example.new"))
      try await eventually("the push is sent") { first.acceptAll() == ["new"] }
      work.cancel()
      await work.value
    }
  }
}

/// Keys that a database on a server has had in rows.
@Suite(.onSQLite) struct MovedKeysTests {
  @Test("keys in rows become files on SQLite")
  func rowsBecomeFiles() async throws {
    let first = try await DeliveryHarness()
    let entry = SigningKeys.Entry(
      description: SigningKey(teamId: DeliveryHarness.team, keyId: "KEYROW1111", apps: ["com.example.row"]),
      key: try ES256PrivateKey.generate())
    try await first.store.write { try SigningKeyTable.put(entry, $0) }
    await first.close()
    let second = try await DeliveryHarness(folder: first.folder, clock: first.clock)
    #expect(second.delivery.keys.entry(entry.id)?.description == entry.description)
    #expect(try second.count("signing_keys") == 0)
    await second.close()
    let third = try await DeliveryHarness(folder: first.folder, clock: first.clock)
    #expect(third.delivery.keys.entry(entry.id) != nil)
    await third.remove()
  }
}
