import CampanileBase
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// Two processes on one database of PostgreSQL, of which one delivers at a time.
@Suite(.enabled(if: TestStore.usesPostgreSQL), .timeLimit(.minutes(1))) struct DeliveryTakeoverTests {
  @Test("the next process sends what others have queued and taken, also for an app that it has not seen")
  func nextProcessContinues() async throws {
    let first = try await DeliveryHarness()
    let second = try await DeliveryHarness(folder: first.folder, clock: first.clock)
    try await first.enqueue(
      first.order("a1", .alert, "1"), first.order("a1", .alert, "2"),
      first.order("b1", .alert, "other", app: "com.example.other"))
    // Taken, and never settled.
    #expect(try await first.sendTexts().sorted() == ["1", "other"])
    // Queued behind the others, although the second process has not queued them.
    try await second.enqueue(second.order("a1", .alert, "3"))
    await first.close()
    let work = Task { await second.running.run() }
    var texts: [String] = []
    try await eventually("all pushes are sent and settled") {
      texts += second.acceptAll()
      return try second.count("pushes") == 0
    }
    #expect(texts.filter { $0 != "other" } == ["1", "2", "3"] && texts.count == 4)
    work.cancel()
    await work.value
    await second.remove()
  }

  @Test("a process that delivers again recovers the pushes that another one has taken in the meantime")
  func pushesOfAnotherAreRecovered() async throws {
    let first = try await DeliveryHarness()
    let second = try await DeliveryHarness(folder: first.folder, clock: first.clock)
    // The first process has delivered before.
    #expect(try await first.send().isEmpty)
    try await second.enqueue(second.order("a1", .alert, "1"))
    #expect(try await second.sendTexts() == ["1"])
    await second.close()
    let work = Task { await first.running.run() }
    try await eventually("the push is sent again") { first.acceptAll() == ["1"] }
    work.cancel()
    await work.value
    await first.remove()
  }

  @Test("a process that stops waits 5 s for APNs, and another one sends the push again")
  func stoppingProcessDoesNotWaitForever() async throws {
    let first = try await DeliveryHarness()
    try await first.enqueue(first.order("a1", .alert, "1"))
    let work = Task { await first.running.run() }
    try await eventually("the push is in flight") { first.sender.takeRequests().count == 1 }
    work.cancel()
    let time = Task {
      while !Task.isCancelled {
        first.clock.advance(by: .seconds(1))
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    await work.value
    time.cancel()
    await first.close()
    let second = try await DeliveryHarness(folder: first.folder, clock: first.clock)
    try await eventually("the push is sent again") { try await second.sendTexts() == ["1"] }
    await second.remove()
  }

  @Test("a process that stops settles what it has in flight before another one takes over")
  func stoppingProcessSettlesFirst() async throws {
    let first = try await DeliveryHarness()
    let second = try await DeliveryHarness(folder: first.folder, clock: first.clock)
    func work(_ harness: DeliveryHarness) -> Task<Void, Never> {
      Task { await harness.store.whileHolding("background") { await harness.running.run() } }
    }
    try await first.enqueue(first.order("a1", .alert, "1"))
    let firstWork = work(first)
    var sent: [PushRequest] = []
    try await eventually("the push is in flight") {
      sent += first.sender.takeRequests()
      return sent.count == 1
    }
    let secondWork = work(second)
    try await second.enqueue(second.order("a1", .alert, "2"))
    firstWork.cancel()
    // More than the 2 s after which a process looks again for a free lease.
    try await Task.sleep(for: .seconds(3))
    #expect(second.sender.takeRequests().isEmpty)
    first.sender.answer(sent[0], status: 200)
    first.delivery.notifier.signal.notify()
    await firstWork.value
    var texts: [String] = []
    try await eventually("the other process continues") {
      texts += second.acceptAll()
      return try second.count("pushes") == 0
    }
    #expect(texts == ["2"])
    secondWork.cancel()
    await secondWork.value
    await first.close()
    await second.remove()
  }
}
