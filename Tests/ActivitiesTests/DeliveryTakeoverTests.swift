import CampanileBase
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// Two processes on one database of PostgreSQL, of which one delivers at a time.
@Suite(.enabled(if: TestStore.usesPostgreSQL)) struct DeliveryTakeoverTests {
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
      for request in second.sender.takeRequests() {
        texts.append(String(decoding: request.payload, as: UTF8.self))
        second.sender.answer(request, status: 200)
      }
      second.delivery.notifier.signal.notify()
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
    try await eventually("the push is sent again") {
      first.sender.takeRequests().map { String(decoding: $0.payload, as: UTF8.self) } == ["1"]
    }
    work.cancel()
    await work.value
    await first.remove()
  }
}
