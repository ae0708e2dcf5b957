import CampanileService
import Testing

@testable import Notifications

@Suite struct ActionQueueTests {
  private func queue(_ change: (inout ActionQueueLimits) -> Void = { _ in }) -> ActionQueue {
    var limits = ActionQueueLimits()
    change(&limits)
    return ActionQueue(limits)
  }

  @Test("slow receivers of one user use at most eight slots, and another user's request is sent at once")
  func slowReceiversOfOneUserDoNotBlockOthers() {
    var queue = queue()
    let admissions = (0..<100).map { queue.enter(user: "tarpit", host: "slow\($0)").admission }
    #expect(admissions.map { $0 == .sent ? 1 : 0 }.reduce(0, +) == 8)
    #expect(admissions.map { $0 == .waits ? 1 : 0 }.reduce(0, +) == 64)
    #expect(admissions.last == .refused)
    #expect(queue.enter(user: "anna", host: "fast").admission == .sent)
  }

  @Test func requestsPerHostAreLimited() {
    var queue = queue()
    let admissions = (0..<20).map { queue.enter(user: "user \($0)", host: "one").admission }
    #expect(admissions.prefix(16).allSatisfy { $0 == .sent } && admissions.suffix(4).allSatisfy { $0 == .waits })
    // A request that waits for its host does not block requests to other hosts, not even of the same user.
    #expect(queue.enter(user: "user 19", host: "two").admission == .sent)
  }

  @Test func usersTakeTurnsAndKeepTheirOwnOrder() {
    var queue = queue { $0.inFlightMax = 1 }
    let first = queue.enter(user: "zoe", host: "h").entry
    var names: [Int: String] = [:]
    for (user, name) in [
      ("anna", "a1"), ("anna", "a2"), ("anna", "a3"), ("bruno", "b1"), ("carla", "c1"), ("bruno", "b2"),
    ] {
      names[queue.enter(user: user, host: "h").entry.id] = name
    }
    var order: [String] = []
    var next = queue.leave(first)
    while let entry = next.first {
      order.append(names[entry.id] ?? "")
      next = queue.leave(entry)
    }
    #expect(order == ["a1", "b1", "c1", "a2", "b2", "a3"])
    #expect(queue.sentCount == 0 && queue.waitingCount == 0)
  }

  @Test("a user waiting for a full host is skipped and keeps the next possible turn")
  func userWaitingForFullHostKeepsItsTurn() {
    var queue = queue {
      $0.inFlightMax = 2
      $0.inFlightPerHostMax = 1
    }
    let one = queue.enter(user: "anna", host: "one").entry
    let two = queue.enter(user: "bruno", host: "two").entry
    let blocked = queue.enter(user: "carla", host: "one").entry
    let open = queue.enter(user: "dora", host: "three").entry
    #expect(queue.leave(two) == [open])
    #expect(queue.leave(one) == [blocked])
  }

  @Test func waitingRequestsAreLimitedWithReserve() {
    var queue = queue {
      $0.inFlightMax = 0
      $0.waiting = SharedLimit(total: 8, perUser: 3)
    }
    func enter(_ user: String) -> ActionQueue.Admission { queue.enter(user: user, host: "h").admission }
    #expect((0..<4).map { _ in enter("anna") } == [.waits, .waits, .waits, .refused])
    #expect((0..<4).map { _ in enter("bruno") } == [.waits, .waits, .waits, .refused])
    // Six requests wait: the last two slots are reserved for users without any.
    #expect(enter("carla") == .waits && enter("carla") == .refused)
    #expect(enter("dora") == .waits && enter("emma") == .refused)
  }

  @Test func abandonedRequestsAreNotSent() {
    var queue = queue { $0.inFlightMax = 1 }
    let first = queue.enter(user: "anna", host: "h").entry
    let second = queue.enter(user: "bruno", host: "h").entry
    let third = queue.enter(user: "carla", host: "h").entry
    queue.giveUp(second)
    queue.giveUp(second)
    queue.giveUp(first)
    #expect(!queue.isWaiting(second) && queue.isSent(first) && queue.waitingCount == 1)
    #expect(queue.leave(second).isEmpty)
    #expect(queue.leave(first) == [third])
    #expect(queue.leave(first).isEmpty)
  }

  @Test("random calls exceed no limit and leave no usable slot empty")
  func limitsHoldForRandomCalls() {
    var source = SplitMix(state: UInt64.random(in: 0 ... .max))
    let seed = source.state
    var limits = ActionQueueLimits()
    (limits.inFlightMax, limits.inFlightPerUserMax, limits.inFlightPerHostMax) = (6, 2, 3)
    limits.waiting = SharedLimit(total: 20, perUser: 5)
    var queue = ActionQueue(limits)
    var sent: [ActionQueue.Entry] = []
    var waiting: [ActionQueue.Entry] = []
    for _ in 0..<5_000 {
      switch source.below(5) {
      case 0, 1, 2:
        let (entry, admission) = queue.enter(user: "u\(source.below(7))", host: "h\(source.below(4))")
        if admission == .sent { sent.append(entry) }
        if admission == .waits { waiting.append(entry) }
      case 3 where !sent.isEmpty:
        let next = queue.leave(sent.remove(at: source.below(sent.count)))
        waiting.removeAll { next.contains($0) }
        sent += next
      case 4 where !waiting.isEmpty: queue.giveUp(waiting.remove(at: source.below(waiting.count)))
      default: break
      }
      func count(_ entries: [ActionQueue.Entry], _ part: (ActionQueue.Entry) -> String) -> [String: Int] {
        entries.reduce(into: [:]) { $0[part($1), default: 0] += 1 }
      }
      let (users, hosts) = (count(sent, \.user), count(sent, \.host))
      #expect(queue.sentCount == sent.count && queue.waitingCount == waiting.count, "seed \(seed)")
      #expect(sent.count <= 6 && users.values.allSatisfy { $0 <= 2 } && hosts.values.allSatisfy { $0 <= 3 })
      #expect(waiting.count <= 20 && count(waiting, \.user).values.allSatisfy { $0 <= 5 })
      let usable = waiting.contains { users[$0.user, default: 0] < 2 && hosts[$0.host, default: 0] < 3 }
      #expect(sent.count == 6 || !usable, "seed \(seed)")
    }
  }
}

@Suite struct ActionSlotsTests {
  private func slots(_ change: (inout ActionQueueLimits) -> Void) -> ActionSlots {
    var limits = ActionQueueLimits()
    limits.waitMaxMs = 3_600_000
    change(&limits)
    return ActionSlots(limits)
  }

  /// Returns once the given numbers of requests are sent and waiting.
  private func until(_ slots: ActionSlots, sent: Int, waiting: Int) async throws {
    while slots.counts != (sent, waiting) { try await Task.sleep(for: .milliseconds(1)) }
  }

  @Test func waitingRequestRunsWhenSlotIsFree() async throws {
    let slots = slots { $0.inFlightMax = 1 }
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    async let first: Int? = slots.run(user: "anna", host: "h") {
      for await _ in gate {}
      return 1
    }
    try await until(slots, sent: 1, waiting: 0)
    async let second: Int? = slots.run(user: "bruno", host: "h") { 2 }
    try await until(slots, sent: 1, waiting: 1)
    open.finish()
    #expect(await [first, second] == [1, 2])
    #expect(slots.counts == (0, 0))
  }

  @Test func timedOutOrCancelledRequestsAreNotRun() async throws {
    let impatient = slots {
      $0.inFlightMax = 0
      $0.waitMaxMs = 1
    }
    #expect(await impatient.run(user: "anna", host: "h") { 1 } == nil)
    let slots = slots { $0.inFlightMax = 0 }
    let task = Task { await slots.run(user: "anna", host: "h") { 1 } }
    try await until(slots, sent: 0, waiting: 1)
    task.cancel()
    #expect(await task.value == nil)
    #expect(slots.counts == (0, 0) && impatient.counts == (0, 0))
  }
}
