import APNs
import CampanileAPI
import CampanileBase
import CampanileCrypto
import CampanileService
import CampanileStore
import Foundation
import NIOPosix
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Activities

/// A sender that records its requests; the test supplies the outcomes.
final class FakeSender: PushSending {
  struct State {
    var requests: [PushRequest] = []
    var routes: [PushRoute] = []
    var results: [PushResult] = []
    var free: [String: Int] = [:]
  }

  let state = Mutex(State())

  func capacity(of route: PushRoute) -> PushCapacity {
    state.withLock { PushCapacity(free: $0.free[route.keyID] ?? 100) }
  }

  func submit(_ requests: [PushRequest], to route: PushRoute) {
    state.withLock {
      $0.requests += requests
      $0.routes += requests.map { _ in route }
    }
  }

  func takeResults() -> [PushResult] {
    state.withLock { state in
      defer { state.results = [] }
      return state.results
    }
  }

  func setFree(_ count: Int, keyID: String) { state.withLock { $0.free[keyID] = count } }

  /// Returns the requests since the last call.
  func takeRequests() -> [PushRequest] {
    state.withLock { state in
      defer { (state.requests, state.routes) = ([], []) }
      return state.requests
    }
  }

  func answer(_ request: PushRequest, _ outcome: PushOutcome) {
    state.withLock { $0.results.append(PushResult(ticket: request.ticket, outcome: outcome)) }
  }

  func answer(_ request: PushRequest, status: Int, _ reason: String = "", timestampMs: Int64? = nil) {
    answer(request, .answered(PushAnswer(status: status, reason: reason, timestampMs: timestampMs)))
  }
}

/// A registry in which a token is its id's UTF-8 in hexadecimal digits.
final class FakeRegistry: PushTokenRegistry {
  struct Retired: Hashable {
    var id: String
    var reason: String
    var atMs: Int64?
  }

  struct State {
    var gone: Set<String> = []
    var retired: [Retired] = []
    var registeredAtMs: Int64 = 0
  }

  let state = Mutex(State())

  func settle(_ transaction: WriteTransaction) {}

  func token(_ id: String, in transaction: ReadTransaction) throws -> DeliveryToken? {
    state.withLock { state in
      guard !state.gone.contains(id) else { return nil }
      let digits = id.utf8.map { String(format: "%02x", $0) }.joined()
      return DeviceToken(digits).map { DeliveryToken(token: $0, registeredAtMs: state.registeredAtMs) }
    }
  }

  func retire(
    _ id: String, token: DeviceToken?, reason: APNsReason, rejectedAtMs: Int64?, in transaction: WriteTransaction
  ) throws -> Bool {
    state.withLock { state in
      state.retired.append(Retired(id: id, reason: reason.text, atMs: rejectedAtMs))
      if let rejectedAtMs, state.registeredAtMs > rejectedAtMs { return false }
      return state.gone.insert(id).inserted
    }
  }
}

/// Delivery with a real store in its own folder, and with a fake sender and clock.
final class DeliveryHarness: Sendable {
  static let team = "TEAM123456"
  static let app = "com.example.app"

  let folder: String
  let clock: TestClock
  let sender = FakeSender()
  let registry = FakeRegistry()
  let delivery: PushDelivery
  let store: Store
  let running: RunningDelivery

  /// Creates a harness.
  ///
  /// - Parameter keys: Key ids with the apps that they sign for.
  init(
    keys: [String: [String]] = ["KEY1111111": []], folder: String? = nil,
    clock: TestClock = TestClock(1_700_000_000_000),
    limits: DeliveryLimits = DeliveryLimits()
  ) async throws {
    let path = folder ?? NSTemporaryDirectory() + "campanile-delivery-\(UUID().uuidString)"
    self.folder = path
    self.clock = clock
    var configuration = PushDelivery.Configuration(addedKeysDirectory: "\(path)/added")
    configuration.keysDirectory = "\(path)/keys"
    configuration.limits = limits
    // No jitter, so that tests know the exact times.
    configuration.backoff.jitter = 0
    if folder == nil {
      for (keyID, apps) in keys {
        let description = SigningKey(teamId: Self.team, keyId: keyID, apps: apps)
        try SigningKeyFiles(directory: "\(path)/keys", teamID: nil)
          .write(description, pem: ES256PrivateKey.generate().privatePEM())
      }
    }
    let delivery = PushDelivery(
      configuration, hub: WatchHub(limits: ActivitiesLimits()),
      environment: .init(
        nowMs: { clock.nowMs }, steadyMs: { clock.nowMs }, random: { UInt64.random(in: .min ... .max) }, log: { _ in }))
    self.delivery = delivery
    var store = try TestStore.configuration("\(path)/activities.sqlite")
    store.onBegin = { _ in delivery.notifier.begin() }
    store.beforeCommit = { try delivery.notifier.complete($0) }
    store.changedNames = { delivery.notifier.changedNames }
    store.foreignObserver = { delivery.notifier.committedElsewhere($0) }
    store.observer = { delivery.notifier.committed(isKept: $0.failure == nil) }
    self.store = try Store(store, migrations: DeliveryMigrations.all)
    running = try await delivery.start(
      store: self.store, registry: registry, group: MultiThreadedEventLoopGroup.singleton, sender: sender)
  }

  var dispatcher: PushDispatcher { running.dispatcher }

  func close() async {
    running.sender.shutDown()
    await store.close()
  }

  func remove() async {
    await close()
    try? FileManager.default.removeItem(atPath: folder)
  }

  func order(
    _ lane: String = "a1", _ kind: PushKind = .update, _ text: String = "{}", app: String = DeliveryHarness.app,
    target: String = "t1"
  ) -> PushOrder {
    PushOrder(
      lane: PushLane.activity(lane).text, kind: kind, userID: "u1", activityID: lane, target: .token(target),
      route: PushRouteKey(app: app, environment: "production"), pushType: .liveactivity, payload: Array(text.utf8))
  }

  @discardableResult
  func enqueue(_ orders: PushOrder...) async throws -> [String] {
    let queue = delivery.queue
    return try await store.write { transaction in try orders.map { try queue.enqueue($0, in: transaction) } }
  }

  /// Runs rounds until one has no work, and returns the requests that were sent.
  func send() async throws -> [PushRequest] {
    for _ in 0..<100 { if try await dispatcher.round() == 0 { break } }
    try checkHints()
    return sender.takeRequests()
  }

  /// Checks that the queue hints never contradict the database.
  func checkHints() throws {
    let notifier = delivery.notifier
    try store.readSingleBlocking { transaction in
      try transaction.forEach(PushTable.lanesSQL, [1_000_000]) { row in
        let lane = try row.text(0)
        #expect(notifier.mayHold(lane: lane), "\(lane)")
        if try row.bool(1) { #expect(notifier.mayHoldMore(lane: lane), "\(lane)") }
        return true
      }
      if try transaction.queryOne(DeadLetters.anySQL, [], { _ in true }) == true {
        #expect(notifier.mayHoldDeadLetters)
      }
    }
  }

  /// Runs rounds and returns the payloads that were sent.
  func sendTexts() async throws -> [String] { try await send().map { String(decoding: $0.payload, as: UTF8.self) } }

  /// Accepts the requests since the last call. Returns their payloads.
  func acceptAll() -> [String] {
    let requests = sender.takeRequests()
    for request in requests { sender.answer(request, status: 200) }
    delivery.notifier.signal.notify()
    return requests.map { String(decoding: $0.payload, as: UTF8.self) }
  }

  func count(_ table: String) throws -> Int64 {
    try store.readSingleBlocking { try $0.queryOne("SELECT count(*) FROM \(table)") { try $0.integer(0) } } ?? -1
  }

  /// Returns the count of a measure over all hours.
  func counted(_ measure: StatisticsMeasure) throws -> Int64 {
    try store.readSingleBlocking { transaction in
      try transaction.query("SELECT count FROM push_statistics WHERE measure = $1", [.text(measure.text)]) {
        try $0.integer(0)
      }
    }.reduce(0, +)
  }
}
