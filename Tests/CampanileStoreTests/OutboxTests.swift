import CampanileBase
import Synchronization
import Testing

@testable import CampanileStore

/// A manual clock and a receiver with scripted responses.
private final class World: Sendable {
  struct State {
    var nowMs: Int64 = 1_000
    var attempts: [String] = []
    var answers: [String: OutboxDelivery] = [:]
    var sleeps: [Int64] = []
  }
  let state = Mutex(State())

  func relay(_ store: Store, _ change: (inout OutboxRelay.Limits) -> Void = { _ in }) -> OutboxRelay {
    var limits = OutboxRelay.Limits()
    limits.backoff.jitter = 0
    limits.backoff.multiplier = 2
    change(&limits)
    let environment = RelayEnvironment(
      nowMs: { self.state.withLock { $0.nowMs } }, random: { 0.5 },
      sleepMs: { delay in
        self.state.withLock { $0.sleeps.append(delay) }
        try await Task.sleep(for: .seconds(3_600))
      })
    return OutboxRelay(store: store, limits: limits, environment: environment) { message in
      let text = String(decoding: message.payload, as: UTF8.self)
      return self.state.withLock { state in
        state.attempts.append(text)
        return state.answers[text] ?? .delivered
      }
    }
  }

  func answer(_ text: String, _ delivery: OutboxDelivery) { state.withLock { $0.answers[text] = delivery } }
  func advance(_ ms: Int64) { state.withLock { $0.nowMs += ms } }
  func takeAttempts() -> [String] {
    state.withLock { state in
      defer { state.attempts = [] }
      return state.attempts
    }
  }
}

@Suite struct OutboxTests {
  private func send(_ store: Store, _ texts: String..., key: String = "k", nowMs: Int64 = 1_000) async throws {
    for text in texts {
      try await store.write {
        try $0.enqueue(topic: "t", key: key, payload: Array(text.utf8), nowMs: nowMs)
      }
    }
  }

  @Test func messageIsEnqueuedOnlyByCommit() async throws {
    try await withStore { store, _ in
      let code = await storeCode {
        _ = try await store.write { transaction in
          try transaction.enqueue(topic: "t", key: "k", payload: [1], nowMs: 1)
          throw StoreError(.constraint, "refused")
        }
      }
      #expect(code == .constraint)
      #expect(try await store.outboxCounts() == OutboxCounts(pending: 0, deadLetters: 0, oldestPendingMs: nil))
      try await send(store, "a", nowMs: 5)
      #expect(try await store.outboxCounts() == OutboxCounts(pending: 1, deadLetters: 0, oldestPendingMs: 5))
    }
  }

  @Test func deliversInOrderWithinAKey() async throws {
    try await withStore { store, _ in
      let world = World()
      for index in 0..<30 { try await send(store, "\(index)", key: "k\(index % 3)") }
      let relay = world.relay(store) { $0.batchMessagesMax = 7 }
      var delivered = 0
      while true {
        let round = try await relay.deliverDue()
        if round.taken == 0 { break }
        #expect(round.taken <= 7)
        delivered += round.delivered
      }
      #expect(delivered == 30)
      let attempts = world.takeAttempts().compactMap(Int.init)
      for key in 0..<3 {
        let own = attempts.filter { $0 % 3 == key }
        #expect(own == own.sorted())
        #expect(own.count == 10)
      }
      #expect(try await store.outboxCounts().pending == 0)
    }
  }

  @Test func failureBlocksOnlyItsKey() async throws {
    try await withStore { store, _ in
      let world = World()
      let relay = world.relay(store) { $0.parallelKeysMax = 1 }
      try await send(store, "a1", "a2", "a3", key: "a")
      try await send(store, "b1", key: "b")
      world.answer("a1", .retry(reason: "down"))
      let round = try await relay.deliverDue()
      #expect((round.delivered, round.retried, round.heldBack) == (1, 1, 2))
      #expect(world.takeAttempts() == ["a1", "b1"])
      // Not due yet: no message overtakes it, not even a newer one.
      try await send(store, "a4", key: "a")
      world.advance(999)
      #expect(try await relay.deliverDue().taken == 0)
      world.advance(1)
      world.answer("a1", .delivered)
      #expect(try await relay.deliverDue().delivered == 4)
      #expect(world.takeAttempts() == ["a1", "a2", "a3", "a4"])
    }
  }

  @Test func retriesBackOffUntilDeadLetter() async throws {
    try await withStore { store, _ in
      let world = World()
      let relay = world.relay(store) { $0.attemptsMax = 4 }
      try await send(store, "bad", "next")
      world.answer("bad", .retry(reason: "no"))
      for wait: Int64 in [1_000, 2_000, 4_000] {
        #expect(try await relay.deliverDue().retried == 1)
        world.advance(wait - 1)
        #expect(try await relay.deliverDue().taken == 0)
        world.advance(1)
      }
      let round = try await relay.deliverDue()
      #expect((round.retried, round.deadLetters, round.delivered) == (0, 1, 1))
      #expect(world.takeAttempts() == ["bad", "bad", "bad", "bad", "next"])
    }
  }

  @Test func deadLettersAreCountedAndRevived() async throws {
    try await withStore { store, _ in
      let world = World()
      let relay = world.relay(store) { $0.attemptsMax = 2 }
      try await send(store, "bad", "next")
      world.answer("bad", .retry(reason: "no"))
      #expect(try await relay.deliverDue().retried == 1)
      world.advance(1_000)
      let round = try await relay.deliverDue()
      #expect((round.deadLetters, round.delivered) == (1, 1))
      #expect(world.takeAttempts() == ["bad", "bad", "next"])
      let counts = try await store.outboxCounts()
      #expect((counts.pending, counts.deadLetters) == (0, 1))
      let dead = try #require(try await store.deadLetters().first)
      #expect((dead.attempts, dead.lastError) == (2, "no"))
      #expect(try await relay.deliverDue().taken == 0)
      #expect(try await store.reviveDeadLetter(dead.sequence, nowMs: 0))
      #expect(try await !store.reviveDeadLetter(dead.sequence, nowMs: 0))
      world.answer("bad", .delivered)
      #expect(try await relay.deliverDue().delivered == 1)
      #expect(try await store.outboxCounts() == OutboxCounts(pending: 0, deadLetters: 0, oldestPendingMs: nil))
    }
  }

  @Test func rejectedMessagesBecomeDeadLettersAtOnce() async throws {
    try await withStore { store, _ in
      let world = World()
      let relay = world.relay(store)
      try await send(store, "a", "b", "c")
      for text in ["a", "b"] { world.answer(text, .reject(reason: "never")) }
      let round = try await relay.deliverDue()
      #expect((round.deadLetters, round.delivered) == (2, 1))
      #expect(try await store.deadLetters(afterSequence: 1).map(\.sequence) == [2])
      #expect(try await store.purgeDeadLetters(createdBeforeMs: 1_000) == 0)
      #expect(try await store.purgeDeadLetters(createdBeforeMs: 1_001, batchRows: 1) == 2)
    }
  }

  @Test func fullOutboxFailsTheWrite() async throws {
    try await withStore { store, _ in
      try await send(store, "a")
      let code = await storeCode {
        _ = try await store.write { transaction in
          try transaction.execute("INSERT INTO rows (id, body) VALUES ('x', 'y')")
          try transaction.enqueue(topic: "t", key: "k", payload: [], nowMs: 1, pendingMax: 1)
        }
      }
      #expect(code == .overloaded)
      #expect(try await store.ids().isEmpty)
      #expect(try await store.outboxCounts().pending == 1)
    }
  }

  @Test func sequencesAreNotReused() async throws {
    try await withStore { store, _ in
      let world = World()
      let relay = world.relay(store)
      try await send(store, "a")
      _ = try await relay.deliverDue()
      try await send(store, "b")
      let last = try await store.read {
        try $0.queryOne("SELECT max(sequence) FROM store_outbox") { try $0.integer(0) }
      }
      #expect(last == 2)
    }
  }

  @Test func runDeliversWhenWokenAndStopsWhenCancelled() async throws {
    try await withStore { store, _ in
      let world = World()
      let relay = world.relay(store)
      let running = Task { await relay.run() }
      #expect(try await eventually { world.state.withLock { !$0.sleeps.isEmpty } })
      try await send(store, "a")
      relay.wake()
      #expect(try await eventually { try await store.outboxCounts().pending == 0 })
      running.cancel()
      await running.value
      #expect(world.takeAttempts() == ["a"])
    }
  }

  @Test func errorsAreRetriedButCancellationIsRethrown() async throws {
    struct Down: Error {}
    try await withStore { store, _ in
      try await send(store, "a")
      let environment = RelayEnvironment(nowMs: { 1_000 }, random: { 0 })
      let failing = OutboxRelay(store: store, environment: environment) { _ in throw Down() }
      let cancelled = OutboxRelay(store: store, environment: environment) { _ in throw CancellationError() }
      await #expect(throws: CancellationError.self) { _ = try await cancelled.deliverDue() }
      #expect(try await failing.deliverDue().retried == 1)
    }
  }

  @Test func inboxDropsRepeatedMessages() async throws {
    try await withStore { store, _ in
      for (index, id) in ["m1", "m2", "m1", "m1"].enumerated() {
        let isNew = try await store.write { transaction in
          guard try transaction.acceptOnce(source: "sync", messageID: id, nowMs: Int64(index)) else { return false }
          try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, 'effect')", [.text(id)])
          return true
        }
        #expect(isNew == (index < 2))
      }
      #expect(try await store.ids() == ["m1", "m2"])
      #expect(try await store.write { try $0.acceptOnce(source: "other", messageID: "m1", nowMs: 9) })
      #expect(try await store.purgeInbox(seenBeforeMs: 1) == 1)
      #expect(try await store.write { try $0.acceptOnce(source: "sync", messageID: "m1", nowMs: 10) })
      #expect(try await store.write { try !$0.acceptOnce(source: "sync", messageID: "m2", nowMs: 10) })
    }
  }
}
