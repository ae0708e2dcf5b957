import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import Foundation
import NIOHTTP2
import NIOPosix
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Activities

/// Delivery with a real store and real connections against a faulty server: every lane's last state arrives, and no
/// lane goes backwards.
@Suite(.serialized) struct DeliveryFaultTests {
  /// The display of a device: the newest state of each lane, and the lanes that went backwards.
  private final class Devices: Sendable {
    struct State {
      var shown: [String: Int] = [:]
      var backwards: [String] = []
      var accepted = 0
      var count = 0
    }

    let state = Mutex(State())

    /// Displays a body `{"lane":"…","n":…}`.
    func show(_ body: String) {
      guard let object = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any],
        let lane = object["lane"] as? String, let number = object["n"] as? Int
      else { return }
      state.withLock { state in
        state.accepted += 1
        if number < state.shown[lane] ?? 0 { state.backwards.append("\(lane): \(number)") }
        state.shown[lane] = number
      }
    }

    func next() -> Int {
      state.withLock { state in
        state.count += 1
        return state.count
      }
    }
  }

  private final class Fixture: Sendable {
    let folder: String
    let delivery: PushDelivery
    let store: Store
    let running: RunningDelivery

    init(
      _ server: APNsServer, folder: String,
      configure: (inout PushDelivery.Configuration, inout StoreConfiguration) -> Void = { _, _ in }
    ) async throws {
      self.folder = folder
      var configuration = PushDelivery.Configuration(addedKeysDirectory: "\(folder)/added")
      configuration.teamID = "TEAM123456"
      configuration.keysDirectory = "\(folder)/keys"
      configuration.limits.updateSpacingMs = 5
      configuration.limits.routeWaitMsMax = 50
      configuration.limits.pollMs = 50
      configuration.backoff.initialDelay = .milliseconds(10)
      configuration.backoff.delayMax = .milliseconds(100)
      configuration.limits.attemptsMax = 100
      configuration.sender.trustFile = server.certificatePath
      configuration.sender.pool.tickMs = 20
      configuration.sender.pool.breaker.pause.initialDelay = .milliseconds(20)
      configuration.sender.pool.breaker.pause.delayMax = .milliseconds(100)
      configuration.sender.pool.connection.streams.answerTimeoutMs = 500
      try configuration.endpoints.set("production=localhost:\(server.port)")
      var store = try TestStore.configuration("\(folder)/activities.sqlite")
      configure(&configuration, &store)
      let start = ContinuousClock.now
      let delivery = PushDelivery(
        configuration, hub: WatchHub(limits: ActivitiesLimits()),
        environment: .init(
          nowMs: { Int64(Date().timeIntervalSince1970 * 1_000) },
          steadyMs: { Int64((ContinuousClock.now - start) / .milliseconds(1)) },
          random: { UInt64.random(in: .min ... .max) }, log: { _ in }))
      store.onBegin = { _ in delivery.notifier.begin() }
      store.beforeCommit = { try delivery.notifier.complete($0) }
      store.observer = { delivery.notifier.committed(isKept: $0.failure == nil) }
      self.delivery = delivery
      self.store = try Store(store, migrations: DeliveryMigrations.all)
      running = try await delivery.start(
        store: self.store, registry: FakeRegistry(), group: MultiThreadedEventLoopGroup.singleton)
    }

    static func addKey(_ folder: String, _ keyID: String, apps: [String] = []) throws {
      let key = SigningKey(teamId: "TEAM123456", keyId: keyID, apps: apps)
      try SigningKeyFiles(directory: "\(folder)/keys", teamID: nil).write(
        key, pem: ES256PrivateKey.generate().privatePEM())
    }

    func enqueue(_ lane: String, _ number: Int, app: String = "com.example.app") async throws {
      let order = PushOrder(
        lane: PushLane.activity(lane).text, kind: .update, userID: "u", activityID: lane, target: .token(lane),
        route: PushRouteKey(app: app, environment: "production"), pushType: .liveactivity,
        payload: Array(#"{"lane":"\#(lane)","n":\#(number)}"#.utf8))
      let queue = delivery.queue
      _ = try await store.write { try queue.enqueue(order, in: $0) }
    }

    /// Waits until the queue is empty; otherwise the test's time limit applies.
    func drained() async throws {
      while true {
        let left = try store.readSingleBlocking { try $0.queryOne("SELECT count(*) FROM pushes") { try $0.integer(0) } }
        if left == 0 { return }
        try await Task.sleep(for: .milliseconds(10))
      }
    }

    func accepted(app: String) throws -> Int64 {
      try store.readSingleBlocking { transaction in
        try transaction.query(
          "SELECT count FROM push_statistics WHERE app = $1 AND measure = 'accepted'", [.text(app)]
        ) { try $0.integer(0) }
      }.reduce(0, +)
    }

    func close() async {
      running.close()
      await store.close()
    }
  }

  private func withServer(
    _ body: (APNsServer, String, Devices) async throws -> Void
  ) async throws {
    let folder = NSTemporaryDirectory() + "campanile-faults-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let server = try await APNsServer.start(folder: folder, port: fixedPort())
    do {
      try Fixture.addKey(folder, "KEY1111111")
      try await body(server, folder, Devices())
    } catch {
      Issue.record(error)
    }
    await server.stop()
    try FileManager.default.removeItem(atPath: folder)
  }

  /// Updates 30 lanes 20 times and expects their last states.
  private func runLanes(_ fixture: Fixture, _ devices: Devices) async throws {
    let task = Task { await fixture.running.run() }
    for number in 1...20 {
      for lane in 0..<30 { try await fixture.enqueue("lane\(lane)", number) }
      try await Task.sleep(for: .milliseconds(3))
    }
    try await fixture.drained()
    task.cancel()
    await task.value
    let state = devices.state.withLock { $0 }
    #expect(state.shown == Dictionary(uniqueKeysWithValues: (0..<30).map { ("lane\($0)", 20) }))
    #expect(state.backwards.isEmpty)
  }

  @Test(.timeLimit(.minutes(1)), arguments: ["refusals", "goaway", "resets", "closes", "silence"])
  func lastStateOfEachLaneArrives(fault: String) async throws {
    try await withServer { server, folder, devices in
      server.script { seen in
        let number = devices.next()
        switch fault {
        case "refusals" where number % 5 == 0: return .answer(503, #"{"reason":"ServiceUnavailable"}"#)
        case "goaway" where number % 20 == 0:
          devices.show(seen.body)
          return .answerAndGoAway(200)
        case "resets" where number % 7 == 0: return .reset(number % 2 == 0 ? .internalError : .refusedStream)
        case "closes" where number % 50 == 0: return .closeConnection
        case "silence" where number % 60 == 0: return .silence
        default:
          devices.show(seen.body)
          return .answer(200, "")
        }
      }
      let fixture = try await Fixture(server, folder: folder)
      try await runLanes(fixture, devices)
      await fixture.close()
    }
  }

  @Test(.timeLimit(.minutes(1))) func serverOutageLosesNoPush() async throws {
    try await withServer { server, folder, devices in
      let accept: @Sendable (APNsServer.Seen) -> APNsServer.Action = { seen in
        devices.show(seen.body)
        return .answer(200, "")
      }
      server.script(accept)
      let fixture = try await Fixture(server, folder: folder)
      let task = Task { await fixture.running.run() }
      for lane in 0..<20 { try await fixture.enqueue("lane\(lane)", 1) }
      try await fixture.drained()
      await server.stop()
      server.script { _ in .closeConnection }
      for lane in 0..<20 { try await fixture.enqueue("lane\(lane)", 2) }
      try await Task.sleep(for: .milliseconds(300))
      let second = try await APNsServer.start(folder: folder, port: server.port, script: accept)
      server.script(accept)
      try await fixture.drained()
      task.cancel()
      await task.value
      #expect(devices.state.withLock { $0.shown.values.allSatisfy { $0 == 2 } && $0.shown.count == 20 })
      await fixture.close()
      await second.stop()
    }
  }

  @Test(.timeLimit(.minutes(1))) func wrongKeyOfOneAppDoesNotAffectAnother() async throws {
    try await withServer { server, folder, devices in
      try Fixture.addKey(folder, "WRONGKEY11", apps: ["com.example.wrong"])
      server.script { seen in
        if seen.headers["apns-topic"]?.hasPrefix("com.example.wrong") == true {
          return .answer(403, #"{"reason":"InvalidProviderToken"}"#)
        }
        devices.show(seen.body)
        return .answer(200, "")
      }
      let fixture = try await Fixture(server, folder: folder) { configuration, _ in
        configuration.sender.pool.breaker.pause.initialDelay = .seconds(60)
      }
      let task = Task { await fixture.running.run() }
      for lane in 0..<50 { try await fixture.enqueue("w\(lane)", 1, app: "com.example.wrong") }
      for lane in 0..<50 { try await fixture.enqueue("lane\(lane)", 1) }
      while try fixture.accepted(app: "com.example.app") < 50 { try await Task.sleep(for: .milliseconds(5)) }
      task.cancel()
      await task.value
      #expect(devices.state.withLock { $0.shown.count } == 50)
      let refused = server.seen.count { $0.headers["apns-topic"]?.hasPrefix("com.example.wrong") == true }
      let dead = try fixture.store.readSingleBlocking {
        try $0.queryOne("SELECT count(*) FROM dead_letters") { try $0.integer(0) }
      }
      let waiting = try fixture.store.readSingleBlocking {
        try $0.queryOne("SELECT count(*) FROM pushes") { try $0.integer(0) }
      }
      // Pushes sent to APNs are dead letters, the others wait behind the breaker; none is lost.
      #expect((dead ?? 0) + (waiting ?? 0) == 50)
      #expect(refused >= Int(dead ?? 0))
      await fixture.close()
    }
  }

  @Test(.timeLimit(.minutes(1)), .onSQLite) func fullDiskRejectsNewPushesAndLosesNone() async throws {
    try await withServer { server, folder, devices in
      server.script { seen in
        devices.show(seen.body)
        return .answer(200, "")
      }
      let full = try await Fixture(server, folder: folder) { _, store in store.sizeBytesMax = 600_000 }
      var accepted = 0
      var refusal: StoreError?
      for lane in 0..<20_000 where refusal == nil {
        do {
          try await full.enqueue("lane\(lane)", 1)
          accepted += 1
        } catch let error as StoreError {
          refusal = error
        }
      }
      #expect(refusal?.code == .diskFull)
      // With a full disk no push needs to be sent, but no attempt may lose one.
      let task = Task { await full.running.run() }
      try await Task.sleep(for: .milliseconds(300))
      task.cancel()
      await task.value
      await full.close()
      let roomy = try await Fixture(server, folder: folder)
      let second = Task { await roomy.running.run() }
      try await roomy.drained()
      second.cancel()
      await second.value
      #expect(devices.state.withLock { $0.shown.count } == accepted)
      await roomy.close()
    }
  }

  @Test(.timeLimit(.minutes(1))) func channelsAreCreatedListedSentToAndDeleted() async throws {
    try await withServer { server, folder, _ in
      server.script { seen in
        switch (seen.headers[":method"], seen.headers[":path"]) {
        case ("POST", "/1/apps/com.example.app/channels"):
          return .answerWithChannel(201, "dHN0LXNyY2gtY2hubA==")
        case ("GET", "/1/apps/com.example.app/all-channels"):
          return .answer(200, #"{"channels":["dHN0LXNyY2gtY2hubA==","b3RoZXI=","Z29uZQ=="]}"#)
        case ("GET", "/1/apps/com.example.app/channels"):
          guard ["b3RoZXI=", "Tm9uZQ=="].contains(seen.headers["apns-channel-id"]) else {
            return .answer(400, #"{"reason":"ChannelNotRegistered"}"#)
          }
          return .answer(200, #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#)
        case ("DELETE", _): return .answer(seen.headers["apns-channel-id"] == "b3RoZXI=" ? 204 : 400, "")
        case ("POST", "/4/broadcasts/apps/com.example.app"): return .answer(200, "")
        default: return .answer(404, #"{"reason":"BadPath"}"#)
        }
      }
      let fixture = try await Fixture(server, folder: folder)
      let channels = BroadcastChannelsService(delivery: fixture.running, limits: ActivitiesLimits())
      let context = CallContext(
        method: BroadcastChannelsServiceMethods.sendBroadcast,
        principal: Principal(kind: .user, id: "operator", scopes: ["admin"]))
      let create = CreateBroadcastChannelRequest(
        app: "com.example.app", environment: "production", storagePolicy: .mostRecent, requestId: "once")
      let created = try await channels.createBroadcastChannel(create, context: context)
      #expect(created.channel?.id == "dHN0LXNyY2gtY2hubA==" && created.channel?.storagePolicy == .mostRecent)
      #expect(server.seen.last?.body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
      // A repetition creates no second channel.
      let asked = server.seen.count
      #expect(try await channels.createBroadcastChannel(create, context: context) == created)
      #expect(server.seen.count == asked)
      // Policies of channels from elsewhere are read at APNs; a channel that was just deleted is left out.
      var list = ListBroadcastChannelsRequest(app: "com.example.app", environment: "production", pageSize: 2)
      let first = try await channels.listBroadcastChannels(list, context: context)
      #expect(first.channels.map(\.id) == ["b3RoZXI="] && first.channels.map(\.storagePolicy) == [.noneValue])
      list.pageToken = first.nextPageToken
      let second = try await channels.listBroadcastChannels(list, context: context)
      #expect(second.channels == [created.channel] && second.nextPageToken.isEmpty)
      var get = GetBroadcastChannelRequest(
        app: "com.example.app", environment: "production", channelId: "b3RoZXI=")
      #expect(try await channels.getBroadcastChannel(get, context: context).channel == first.channels.first)
      get.channelId = "Z29uZQ=="
      let gone = await #expect(throws: RPCError.self) { try await channels.getBroadcastChannel(get, context: context) }
      #expect(gone?.code == .notFound && gone?.reason == "CHANNEL_NOT_FOUND")
      var delete = DeleteBroadcastChannelRequest(
        app: "com.example.app", environment: "production", channelId: "b3RoZXI=")
      _ = try await channels.deleteBroadcastChannel(delete, context: context)
      delete.channelId = "bm9uZQ=="
      let refused = await #expect(throws: RPCError.self) {
        try await channels.deleteBroadcastChannel(delete, context: context)
      }
      #expect(refused?.reason == "APNS_REFUSED")

      var send = SendBroadcastRequest(
        app: "com.example.app", environment: "production", channelId: "dHN0LXNyY2gtY2hubA==",
        payloadJson: #"{"aps":{"event":"update","timestamp":1,"content-state":{}}}"#, requestId: "send")
      let id = try await channels.sendBroadcast(send, context: context).apnsId
      #expect(try await channels.sendBroadcast(send, context: context).apnsId == id)
      let task = Task { await fixture.running.run() }
      try await fixture.drained()
      task.cancel()
      await task.value
      let seen = try #require(server.seen.last)
      #expect(seen.headers["apns-request-id"] == id && seen.headers["apns-id"] == nil)
      #expect(seen.headers["apns-channel-id"] == "dHN0LXNyY2gtY2hubA==" && seen.headers["apns-expiration"] != "0")
      #expect(seen.headers["apns-push-type"] == "liveactivity")
      #expect(seen.headers["apns-topic"] == nil)
      // A channel that stores nothing refuses any other expiration than 0.
      send.channelId = "Tm9uZQ=="
      send.requestId = ""
      let direct = try await channels.sendBroadcast(send, context: context).apnsId
      let again = Task { await fixture.running.run() }
      try await fixture.drained()
      again.cancel()
      await again.value
      #expect(server.seen.last?.headers["apns-request-id"] == direct)
      #expect(server.seen.last?.headers["apns-expiration"] == "0")
      send.expireTime = ProtoTimestamp(millisecondsSince1970: 0)
      let stored = await #expect(throws: RPCError.self) { try await channels.sendBroadcast(send, context: context) }
      #expect(stored?.fieldViolations.map { "\($0.field) \($0.reason)" } == ["expireTime FIELD_NOT_ALLOWED"])
      send.expireTime = nil
      for json in [#"{"aps":{"event":"start"}}"#, "{}", #"{"aps":5}"#] {
        send.payloadJson = json
        await #expect(throws: RPCError.self) { try await channels.sendBroadcast(send, context: context) }
      }
      let long = String(repeating: "x", count: APNsLimits.largePayloadBytesMax)
      send.payloadJson = #"{"aps":{"event":"update"},"x":"\#(long)"}"#
      let tooLong = await #expect(throws: RPCError.self) { try await channels.sendBroadcast(send, context: context) }
      #expect(tooLong?.message.contains("33 bytes more") == true)
      await fixture.close()
    }
  }
}
