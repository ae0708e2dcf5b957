import APNs
import CampanileBase
import CampanileRPC
import CampanileStore
import Foundation
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Activities

/// The queue and the dispatcher with a real store: the order of pushes, and the stored results.
@Suite struct DeliveryQueueTests {
  private func with(
    keys: [String: [String]] = ["KEY1111111": []], limits: DeliveryLimits = DeliveryLimits(),
    _ body: (DeliveryHarness) async throws -> Void
  ) async throws {
    let harness = try await DeliveryHarness(keys: keys, limits: limits)
    do {
      try await body(harness)
    } catch {
      await harness.remove()
      throw error
    }
    await harness.remove()
  }

  @Test func pushIsSentWithItsHeaders() async throws {
    try await with { harness in
      var order = harness.order(target: "ab")
      order.expirationMs = harness.clock.nowMs + 3_600_000
      order.collapseID = "c1"
      let ids = try await harness.enqueue(order)
      let request = try #require(try await harness.send().first)
      #expect(request.id == ids[0])
      #expect(request.path == "/3/device/6162")
      #expect(request.topic == "com.example.app.push-type.liveactivity")
      #expect(request.pushType == "liveactivity")
      #expect(request.priority == 10)
      #expect(request.expiration == (harness.clock.nowMs + 3_600_000) / 1_000)
      #expect(request.collapseID == "c1")
      #expect(request.authorization.hasPrefix("bearer ey"))
      harness.sender.answer(request, status: 200)
      #expect(try await harness.send().isEmpty)
      #expect(try harness.count("pushes") == 0)
      #expect(try harness.counted(.accepted) == 1)
      #expect(harness.dispatcher.inFlightCount == 0)
    }
  }

  @Test func oneStateIsInFlightAndTheLatestFollows() async throws {
    try await with { harness in
      try await harness.enqueue(harness.order("a1", .update, "1"))
      let first = try await harness.send()
      #expect(first.count == 1)
      for text in ["2", "3", "4"] { try await harness.enqueue(harness.order("a1", .update, text)) }
      #expect(try await harness.send().isEmpty)
      #expect(try harness.counted(.coalesced) == 2)
      harness.sender.answer(try #require(first.first), status: 200)
      #expect(try await harness.send().isEmpty)
      harness.clock.advance(by: .milliseconds(harness.delivery.configuration.limits.updateSpacingMs))
      #expect(try await harness.sendTexts() == ["4"])
    }
  }

  @Test func statesReplaceEachOtherByTarget() async throws {
    try await with { harness in
      for text in ["1", "2"] {
        for target in ["t1", "t2"] {
          try await harness.enqueue(harness.order("a1", .update, text + target, target: target))
        }
      }
      var sent: [String] = []
      for _ in 0..<2 {
        let requests = try await harness.send()
        #expect(requests.count == 1)
        sent += requests.map { String(decoding: $0.payload, as: UTF8.self) }
        harness.sender.answer(try #require(requests.first), status: 200)
        _ = try await harness.dispatcher.round()
        harness.clock.advance(by: .milliseconds(harness.delivery.configuration.limits.updateSpacingMs))
      }
      #expect(Set(sent) == ["2t1", "2t2"])
    }
  }

  @Test func endReplacesUpdatesAndWaitsForThePushInFlight() async throws {
    try await with { harness in
      try await harness.enqueue(harness.order("a1", .start, "start"))
      try await harness.enqueue(harness.order("a1", .update, "1"))
      try await harness.enqueue(harness.order("a1", .update, "2"))
      try await harness.enqueue(harness.order("a1", .end, "end"))
      var texts: [String] = []
      for _ in 0..<3 {
        let requests = try await harness.send()
        texts += requests.map { String(decoding: $0.payload, as: UTF8.self) }
        for request in requests { harness.sender.answer(request, status: 200) }
      }
      #expect(texts == ["start", "end"])
      #expect(try harness.counted(.coalesced) == 2)
      #expect(try harness.count("pushes") == 0)
    }
  }

  @Test func alertsAreNeverReplaced() async throws {
    try await with { harness in
      for index in 0..<5 {
        var order = harness.order("", .alert, "\(index)")
        order.lane = PushLane.token("t1").text
        order.pushType = .alert
        try await harness.enqueue(order)
      }
      var texts: [String] = []
      while let request = try await harness.send().first {
        texts.append(String(decoding: request.payload, as: UTF8.self))
        #expect(request.topic == "com.example.app")
        harness.sender.answer(request, status: 200)
      }
      #expect(texts == ["0", "1", "2", "3", "4"])
    }
  }

  @Test func pushesInFlightAreSentAgainAfterARestart() async throws {
    let first = try await DeliveryHarness()
    let ids = try await first.enqueue(first.order("a1"), first.order("a2"), first.order("a3"))
    let sent = try await first.send()
    #expect(Set(sent.map(\.id)) == Set(ids))
    first.sender.answer(try #require(sent.first { $0.id == ids[1] }), status: 200)
    _ = try await first.dispatcher.round()
    await first.close()
    // The clock was set back in the meantime: order and ids must still hold.
    let second = try await DeliveryHarness(folder: first.folder, clock: TestClock(1_600_000_000_000))
    #expect(Set(try await second.send().map(\.id)) == [ids[0], ids[2]])
    let newer = try await second.enqueue(second.order("a4"))
    #expect(newer[0] > (ids.max() ?? ""))
    await second.remove()
  }

  @Test func pushesExpiredOrWithoutATokenAreNotSent() async throws {
    try await with { harness in
      var order = harness.order("a1")
      order.expirationMs = harness.clock.nowMs - 1
      try await harness.enqueue(order)
      harness.registry.state.withLock { _ = $0.gone.insert("gone") }
      try await harness.enqueue(harness.order("a2", target: "gone"))
      #expect(try await harness.send().isEmpty)
      #expect(try harness.counted(.expired) == 1)
      #expect(try harness.counted(.withoutToken) == 1)
      #expect(try harness.count("pushes") == 0)
      #expect(try harness.count("push_ledger") == 2)
    }
  }

  @Test func rejectedTokenIsRetiredWithAPNsTimestamp() async throws {
    try await with { harness in
      try await harness.enqueue(harness.order("a1", target: "x"))
      let request = try #require(try await harness.send().first)
      harness.sender.answer(request, status: 410, "Unregistered", timestampMs: 77)
      _ = try await harness.send()
      #expect(harness.registry.state.withLock { $0.retired } == [.init(id: "x", reason: "Unregistered", atMs: 77)])
      #expect(try harness.counted(.retiredTokens) == 1)
      #expect(try harness.counted(.rejected("Unregistered")) == 1)
      #expect(try harness.count("dead_letters") == 0)
    }
  }

  @Test func failuresAreRetriedWithPausesThenGivenUp() async throws {
    var limits = DeliveryLimits()
    limits.attemptsMax = 3
    try await with(limits: limits) { harness in
      let ids = try await harness.enqueue(harness.order("a1", .alert))
      for attempt in 0..<3 {
        let requests = try await harness.send()
        #expect(requests.map(\.id) == ids, "attempt \(attempt)")
        harness.sender.answer(try #require(requests.first), status: 503, "ServiceUnavailable")
        #expect(try await harness.send().isEmpty)
        harness.clock.advance(by: .seconds(200))
      }
      #expect(try await harness.send().isEmpty)
      #expect(try harness.counted(.retried) == 2)
      #expect(try harness.counted(.deadLetters) == 1)
      #expect(try harness.count("dead_letters") == 1)
    }
  }

  @Test func newerStateReplacesAFailedOne() async throws {
    try await with { harness in
      try await harness.enqueue(harness.order("a1", .update, "old"))
      let old = try #require(try await harness.send().first)
      try await harness.enqueue(harness.order("a1", .update, "new"))
      harness.sender.answer(old, status: 500, "InternalServerError")
      #expect(try await harness.send().isEmpty)
      harness.clock.advance(by: .seconds(60))
      #expect(try await harness.sendTexts() == ["new"])
      #expect(try harness.count("dead_letters") == 0)
    }
  }

  @Test func deadStatesAreDeletedOnceANewerOneIsAccepted() async throws {
    try await with { harness in
      try await harness.enqueue(harness.order("a1", .update, "old"))
      harness.sender.answer(try #require(try await harness.send().first), status: 400, "BadTopic")
      _ = try await harness.send()
      #expect(try harness.count("dead_letters") == 1)
      try await harness.enqueue(harness.order("a1", .update, "new"))
      harness.clock.advance(by: .seconds(5))
      harness.sender.answer(try #require(try await harness.send().first), status: 200)
      _ = try await harness.send()
      #expect(try harness.count("dead_letters") == 0)
    }
  }

  @Test func deadRouteDoesNotDelayOthers() async throws {
    let keys = ["KEYDEAD111": ["com.example.dead"], "KEYGOOD111": ["com.example.good"]]
    try await with(keys: keys) { harness in
      harness.sender.setFree(0, keyID: "KEYDEAD111")
      for index in 0..<50 { try await harness.enqueue(harness.order("d\(index)", app: "com.example.dead")) }
      for index in 0..<50 { try await harness.enqueue(harness.order("g\(index)", app: "com.example.good")) }
      let sent = try await harness.send()
      #expect(sent.count == 50)
      #expect(sent.allSatisfy { $0.topic.hasPrefix("com.example.good") })
      harness.sender.setFree(100, keyID: "KEYDEAD111")
      #expect(try await harness.send().count == 50)
    }
  }

  @Test func idleRoutesReserveNoCapacity() async throws {
    var keys: [String: [String]] = [:]
    for number in 10..<50 { keys["KEYMANY1\(number)"] = ["com.example.app\(number)"] }
    var limits = DeliveryLimits()
    limits.inFlightMax = 50
    try await with(keys: keys, limits: limits) { harness in
      // Each route is known from an earlier push, but has none now.
      for number in 10..<50 { try await harness.enqueue(harness.order("\(number)", app: "com.example.app\(number)")) }
      for request in try await harness.send() { harness.sender.answer(request, status: 200) }
      #expect(try await harness.send().isEmpty)
      // Idle routes do not limit a route with pushes.
      for lane in 0..<20 { try await harness.enqueue(harness.order("x\(lane)", app: "com.example.app49")) }
      _ = try await harness.dispatcher.round()
      #expect(harness.sender.takeRequests().count == 20)
    }
  }

  @Test func pushesWithoutASigningKeyWaitForOne() async throws {
    try await with(keys: ["KEY1111111": ["com.example.other"]]) { harness in
      try await harness.enqueue(harness.order("a1"))
      #expect(try await harness.send().isEmpty)
      #expect(!harness.delivery.hasRoute(app: DeliveryHarness.app, environment: "production"))
      #expect(!harness.delivery.hasRoute(app: "com.example.other", environment: "staging"))
      #expect(harness.delivery.hasRoute(app: "com.example.other", environment: "production"))
      #expect(try harness.count("pushes") == 1)
    }
  }

  @Test func queueIsBounded() async throws {
    var limits = DeliveryLimits()
    limits.queuedMax = 3
    limits.queuedPerLaneMax = 2
    try await with(limits: limits) { harness in
      try await harness.enqueue(harness.order("a1", .alert), harness.order("a1", .alert))
      let ofLane = await #expect(throws: RPCError.self) { try await harness.enqueue(harness.order("a1", .alert)) }
      #expect(ofLane?.reason == "PUSHES_EXHAUSTED")
      try await harness.enqueue(harness.order("a2"))
      let ofAll = await #expect(throws: RPCError.self) { try await harness.enqueue(harness.order("a3")) }
      #expect(ofAll?.code == .resourceExhausted)
      // A state that replaces another needs no room.
      try await harness.enqueue(harness.order("a2", .update, "newer"))
      #expect(try harness.count("pushes") == 3)
      for request in try await harness.send() { harness.sender.answer(request, status: 200) }
      _ = try await harness.send()
      try await harness.enqueue(harness.order("a3"))
    }
  }

  @Test func failedWriteQueuesNothing() async throws {
    struct Stop: Error {}
    try await with { harness in
      let (queue, order) = (harness.delivery.queue, harness.order("a1"))
      await #expect(throws: Stop.self) {
        try await harness.store.write { transaction in
          _ = try queue.enqueue(order, in: transaction)
          throw Stop()
        }
      }
      #expect(try await harness.send().isEmpty)
      #expect(try harness.count("push_routes") == 0)
      try await harness.enqueue(order)
      #expect(try await harness.send().count == 1)
      #expect(try harness.count("push_routes") == 1)
    }
  }

  @Test(.onSQLite) func statementsUseIndexes() async throws {
    try await with { harness in
      for sql in [
        PushTable.replaceSQL, PushTable.deleteStatesSQL, PushTable.laneSQL, PushSelection.dueSQL, PushSelection.takeSQL,
        PushCompletion.deleteSQL, PushCompletion.retrySQL, PushCompletion.newerStateSQL,
        PushCompletion.deadStatesSQL, PushDispatcher.nextSQL, DeliveryRetention.deliveryLogSQL,
        DeliveryRetention.deadSQL,
        DeliveryRetention.statisticsSQL, DeliveryRetention.budgetsSQL, PushReading.deliveryLogOneSQL,
        PushReading.deliveryLogSQL, PushReading.deliveryLogOfUserSQL, PushReading.deliveryLogOfActivitySQL,
        PushReading.deadSQL, PushReading.deadOneSQL,
        PushReading.waitingSQL, StatisticsReading.sql, DeadLetters.findSQL, DeadLetters.deleteSQL,
      ] {
        let scans = try harness.store.fullScans(sql)
        #expect(scans.isEmpty, "\(sql)")
      }
    }
  }

  @Test func oldRowsAreDeleted() async throws {
    var limits = DeliveryLimits()
    limits.deliveryLogRowsMax = 5
    try await with(limits: limits) { harness in
      for index in 0..<10 {
        try await harness.enqueue(harness.order("a\(index)"))
        harness.sender.answer(try #require(try await harness.send().first), status: 200)
      }
      _ = try await harness.send()
      #expect(try harness.count("push_ledger") == 10)
      _ = try await harness.running.maintain(nowMs: harness.clock.nowMs)
      #expect(try harness.count("push_ledger") <= 6)
      let later = harness.clock.nowMs + limits.statisticsAgeMaxMs + 7_200_000
      _ = try await harness.running.maintain(nowMs: later)
      for table in ["push_ledger", "push_statistics", "push_budgets"] { #expect(try harness.count(table) == 0) }
    }
  }
}
