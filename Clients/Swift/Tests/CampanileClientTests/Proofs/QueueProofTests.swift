import Foundation
import Testing

@testable import CampanileClient
import CampanileNotifications

/// Long absences of the server, with a clock of the test's own.
struct QueueProofTests {
  private let folder: TestFolder
  private let clock = TestClock()

  init() throws { folder = try TestFolder() }

  private func request(_ number: Int) -> CreateNotificationRequest {
    .init(notification: .init(bucketId: "b_\(number % 50)", title: "\(number)"))
  }

  @Test func tenThousandChangesWaitAndAreSentOnceAndInOrder() async throws {
    let outbox = Outbox(path: folder.path("outbox"), environment: clock.environment())
    for number in 0..<10_000 {
      try outbox.add(NotificationsServiceMethods.createNotification, request(number), object: "b_\(number % 50)")
    }
    let full = #expect(throws: RPCError.self) {
      try outbox.add(NotificationsServiceMethods.createNotification, request(10_000), object: "b_0")
    }
    #expect(full?.reason == "OUTBOX_FULL")
    // On the disk, and less than 5 MB.
    let sizeBytes = try #require(
      try FileManager.default.attributesOfItem(atPath: folder.path("outbox"))[.size] as? Int)
    #expect(sizeBytes < 5_000_000)
    // Each tenth call fails at first; the repetition has the same request id.
    let seen = Locked<[String: Int]>([:])
    let titles = Locked<[String: [Int]]>([:])
    let server = FakeCaller { _, json in
      guard let request = try? CreateNotificationRequest(jsonUTF8: json) else { return RPCError(.internalError, "") }
      let attempt = seen.withLock { seen in
        seen[request.requestId, default: 0] += 1
        return seen[request.requestId] ?? 0
      }
      let number = Int(request.notification?.title ?? "") ?? -1
      if number % 10 == 3, attempt == 1 { return RPCError(.unavailable, "busy") }
      titles.withLock { $0[request.notification?.bucketId ?? "", default: []].append(number) }
      return nil
    }
    let relaunched = Outbox(path: folder.path("outbox"), environment: clock.environment())
    let sender = Task { try await relaunched.run(through: server) }
    try await eventually("all are sent") { try relaunched.entries().isEmpty }
    sender.cancel()
    _ = try? await sender.value
    let sent = titles.withLock { $0 }
    #expect(
      sent.count == 50
        && sent.values.allSatisfy { numbers in
          numbers == numbers.sorted() && Set(numbers).count == 200
        })
    #expect(seen.withLock { $0.count } == 10_000)
    #expect(try relaunched.refusals().isEmpty)
  }

  /// `CAMPANILE_QUEUED` raises the number of calls.
  @Test(.enabled(if: Gateway.isThere)) func gatewayReceivesTheQueueOnceAndInOrder() async throws {
    let count = ProcessInfo.processInfo.environment["CAMPANILE_QUEUED"].flatMap { Int($0) } ?? 1_000
    let campanile = try Gateway.campanile()
    let created = try await campanile.notifications.service.createBucket(.init(bucket: .init(name: "Queue")))
    let bucketID = try #require(created.bucket?.id)
    let outbox = Outbox(path: folder.path("outbox"))
    for number in 0..<count {
      try outbox.add(
        NotificationsServiceMethods.createNotification,
        CreateNotificationRequest(notification: .init(bucketId: bucketID, title: "\(number)")),
        object: "\(number % 100)")
    }
    #expect(try await outbox.sendNow(through: campanile.caller) == 0)
    #expect(try outbox.refusals().isEmpty)
    let numbers = try await Gateway.titles(bucketID, campanile).compactMap { Int($0) }
    #expect(numbers.count == count && Set(numbers).count == count)
    let ofObject = Dictionary(grouping: numbers) { $0 % 100 }
    #expect(ofObject.values.allSatisfy { $0 == $0.sorted() })
  }

  @Test func serverIsAwayForAnHour() async throws {
    let outbox = Outbox(path: folder.path("outbox"), environment: clock.environment())
    let start = clock.nowMs
    let attempts = Locked(0)
    let lastMs = Locked<Int64>(0)
    let clock = clock
    let server = FakeCaller { _, _ in
      attempts.withLock { $0 += 1 }
      lastMs.withLock { $0 = clock.nowMs - start }
      return clock.nowMs - start < 3_600_000 ? RPCError(.unavailable, "away") : nil
    }
    for number in 0..<5 {
      try outbox.add(NotificationsServiceMethods.createNotification, request(number), object: "b_1")
    }
    let sender = Task { try await outbox.run(through: server) }
    try await eventually("all are sent") { try outbox.entries().isEmpty }
    sender.cancel()
    // At most one attempt a minute for the first call, after the first few; the others wait behind it.
    #expect(attempts.withLock { $0 } < 100)
    #expect(lastMs.withLock { $0 } < 3_600_000 + 120_000)
  }

  @Test func changedClockNeitherLosesNorDelaysACall() async throws {
    // The user sets the clock of the device a year back, and a year ahead. Pauses are measured on another clock.
    let wall = Locked<Int64>(1_700_000_000_000)
    var environment = clock.environment()
    environment.wallMs = { wall.withLock { $0 } }
    let outbox = Outbox(path: folder.path("outbox"), environment: environment)
    let titles = Locked<[String]>([])
    let failures = Locked(2)
    let lastMs = Locked<Int64>(0)
    let clock = clock
    let server = FakeCaller { _, json in
      lastMs.withLock { $0 = clock.nowMs }
      if failures.withLock({ left in
        left -= 1
        return left >= 0
      }) {
        wall.withLock { $0 -= 31_536_000_000 }
        return RPCError(.unavailable, "away", retryAfterMs: 5_000)
      }
      titles.withLock {
        $0.append((try? CreateNotificationRequest(jsonUTF8: json))?.notification?.title ?? "")
      }
      return nil
    }
    for number in 0..<3 {
      try outbox.add(NotificationsServiceMethods.createNotification, request(number), object: "b_1")
      wall.withLock { $0 += 31_536_000_000 }
    }
    let sender = Task { try await outbox.run(through: server) }
    try await eventually("all are sent") { try outbox.entries().isEmpty }
    sender.cancel()
    #expect(titles.withLock { $0 } == ["0", "1", "2"])
    // Two pauses of at least 5 s each, and none of a year. The clock goes on after the last call.
    #expect(lastMs.withLock { $0 } < 1_000 + 60_000)
  }

  @Test func expiredSessionKeepsTheQueueUntilTheNextLogin() async throws {
    let outbox = Outbox(path: folder.path("outbox"), environment: clock.environment())
    let isSignedIn = Locked(false)
    let server = FakeCaller { _, _ in
      isSignedIn.withLock { $0 } ? nil : RPCError(.unauthenticated, "expired", reason: "SESSION_EXPIRED")
    }
    try outbox.add(NotificationsServiceMethods.createNotification, request(1), object: "b_1")
    let sender = Task { try await outbox.run(through: server) }
    try await eventually("several attempts") { server.requests.count > 5 }
    #expect(try outbox.refusals().isEmpty && outbox.entries().count == 1)
    isSignedIn.withLock { $0 = true }
    outbox.reconnect.notify()
    try await eventually("it is sent") { try outbox.entries().isEmpty }
    sender.cancel()
    #expect(Set(server.requests).count == 1)
  }

  @Test func networkHistoryWakesOnlyForNewPaths() {
    var history = PathHistory()
    let wifi = PathHistory.Path(isSatisfied: true, interfaces: ["en0"])
    let none = PathHistory.Path(isSatisfied: false, interfaces: [])
    let mobile = PathHistory.Path(isSatisfied: true, interfaces: ["pdp_ip0"])
    let wakes = [wifi, wifi, none, wifi, mobile].map { history.changed(to: $0) }
    #expect(wakes == [false, false, false, true, true])
  }
}
