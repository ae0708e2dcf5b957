import APNs
import CampanileBase
import CampanileRPC
import CampanileStore
import TestSupport
import Testing

@testable import Activities

/// The queue under random load: bursts that share commits, failing writes, and responses of all kinds.
@Suite struct QueueModelTests {
  private struct Undone: Error {}

  @Test(arguments: 1...6)
  func queueDrainsCompletely(_ seed: UInt64) async throws {
    let harness = try await DeliveryHarness()
    do {
      try await run(harness, seed)
    } catch {
      Issue.record(error)
    }
    await harness.remove()
  }

  private func run(_ harness: DeliveryHarness, _ seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    var underWay: [String: PushRequest] = [:]
    for step in 0..<120 {
      if random.below(2) == 0 {
        try await burst(harness, step: step, &random)
      } else {
        try await answer(harness, &underWay) {
          switch random.below(10) {
          case 0: (400, "BadTopic")
          case 1: (503, "ServiceUnavailable")
          case 2: (500, "InternalServerError")
          default: (200, "")
          }
        }
      }
      harness.clock.advance(by: .milliseconds(Int64(random.below(3_000))))
    }
    for _ in 0..<400 {
      guard try harness.count("pushes") > 0 else { break }
      try await answer(harness, &underWay) { (200, "") }
      harness.clock.advance(by: .seconds(200))
    }
    #expect(try harness.count("pushes") == 0)
  }

  /// Runs several writes concurrently. Some fail after queueing a push.
  private func burst(_ harness: DeliveryHarness, step: Int, _ random: inout SplitMix64) async throws {
    let queue = harness.delivery.queue
    let writes = (0...random.below(6)).map { index in
      (
        order: harness.order(
          "a\(random.below(4))", [.update, .update, .alert, .end][random.below(4)], "\(step).\(index)"),
        fails: random.below(5) == 0
      )
    }
    await withTaskGroup(of: Void.self) { group in
      for (order, fails) in writes {
        group.addTask {
          do {
            try await harness.store.write { transaction in
              _ = try queue.enqueue(order, in: transaction)
              if fails { throw Undone() }
            }
            #expect(!fails)
          } catch {
            #expect(error is Undone)
          }
        }
      }
    }
  }

  /// Responds to the pushes in flight and sends those that are due. A lane has at most one push in flight.
  private func answer(
    _ harness: DeliveryHarness, _ underWay: inout [String: PushRequest], _ choose: () -> (Int, String)
  ) async throws {
    for (_, request) in underWay {
      let (status, reason) = choose()
      harness.sender.answer(request, status: status, reason)
    }
    underWay = [:]
    for request in try await harness.send() {
      let lane = try #require(
        try harness.store.readSingleBlocking {
          try $0.queryOne("SELECT lane FROM pushes WHERE apns_id = $1 AND state = 1", [.text(request.id)]) {
            try $0.text(0)
          }
        })
      #expect(underWay.updateValue(request, forKey: lane) == nil, "two pushes of \(lane) in flight")
    }
  }
}
