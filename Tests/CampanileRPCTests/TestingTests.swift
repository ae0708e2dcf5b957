import CampanileBase
import CampanileCodec
import CampanileTesting
import Testing

@testable import CampanileRPC

/// The library for the tests of others: its clock and its recording peer.
@Suite(.timeLimit(.minutes(1))) struct TestingTests {
  private let peer = RecordingPeer()
  private var calls: DoublingCalls { DoublingCalls(caller: peer) }

  @Test func clockWakesSleepersWhoseTimeHasCome() async throws {
    let clock = TestClock(1_000)
    let woken = ClientLog<Int>()
    async let first: Void = {
      try await clock.sleep(for: .milliseconds(10)); woken.add(1)
    }()
    async let second: Void = {
      try await clock.sleep(for: .milliseconds(20)); woken.add(2)
    }()
    try await clock.waitForSleepers(2)
    clock.advance(by: .milliseconds(10))
    try await first
    #expect(woken.all == [1])
    #expect(clock.nowMs == 1_010)
    clock.nowMs = 1_020
    try await second
    try await clock.sleep(until: clock.now)
    #expect(woken.all == [1, 2])
  }

  @Test func cancellationEndsSleep() async throws {
    let clock = TestClock()
    let sleeping = Task { try await clock.sleep(for: .seconds(1)) }
    try await clock.waitForSleepers()
    sleeping.cancel()
    await #expect(throws: CancellationError.self) { try await sleeping.value }
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  @Test func peerRespondsToAllKindsOfCalls() async throws {
    for method in [Doubling.one, Doubling.out, Doubling.into, Doubling.both] {
      peer.respond(to: method) { (notes: [Note]) in notes.map { Note($0.text, count: $0.count * 2) } }
    }
    #expect(try await calls.one("a", 1).count == 2)
    #expect(try await DoublingCalls.counts(calls.out("a", 2)) == [4])
    #expect(try await calls.into([3, 4]).count == 6)
    #expect(try await DoublingCalls.counts(calls.both([5, 6])) == [10, 12])
    #expect(peer.calls.map(\.method) == [Doubling.one, Doubling.out, Doubling.into, Doubling.both])
    #expect(try peer.calls.map { try $0.requests(as: Note.self).map(\.count) } == [[1], [2], [3, 4], [5, 6]])
  }

  @Test func peerFailsCallsAsPrepared() async throws {
    let unprepared = await #expect(throws: RPCError.self) { try await calls.one() }
    #expect(unprepared?.reason == "NO_RESPONSE")
    for method in [Doubling.one, Doubling.out] {
      peer.respond(to: method) { (_: Note) -> Note in throw RPCError(.notFound, "no note", reason: "NO_NOTE") }
    }
    let unary = await #expect(throws: RPCError.self) {
      try await calls.one(options: CallOptions(timeout: .seconds(1)))
    }
    let stream = await #expect(throws: RPCError.self) { try await DoublingCalls.counts(calls.out()) }
    #expect([unary?.reason, stream?.reason] == ["NO_NOTE", "NO_NOTE"])
    #expect(peer.calls.map(\.options.timeoutMs) == [nil, 1_000, nil])
  }
}
