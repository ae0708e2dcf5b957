import Foundation
import Testing

@testable import CampanileClient
import CampanileNotifications

/// Outboxes on files, sent through a fake caller.
struct OutboxTests {
  private let create = NotificationsServiceMethods.createNotification
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private func outbox(_ limits: OutboxLimits = .init(), _ clock: TestClock = TestClock()) -> Outbox {
    Outbox(path: folder.path("outbox"), limits: limits, environment: clock.environment())
  }

  private func request(_ title: String) -> CreateNotificationRequest { .init(notification: .init(title: title)) }

  private var fileBytes: Int {
    ((try? FileManager.default.attributesOfItem(atPath: folder.path("outbox")))?[.size] as? Int) ?? -1
  }

  @Test func requestIDIsMadeBeforeTheFirstAttempt() throws {
    let outbox = outbox()
    let added = try outbox.add(create, request("a"), object: "b_1")
    #expect(added.requestID == "id-1")
    #expect(
      String(decoding: added.request, as: UTF8.self) == #"{"notification":{"title":"a"},"requestId":"id-1"}"#)
    #expect(try outbox.entries() == [added])
    #expect(try self.outbox().entries() == [added])
  }

  @Test func callThatCannotBeRepeatedIsRefused() throws {
    let method = MethodDescriptor(
      path: "p.S/M", kind: .unary, idempotency: .unknown, requestType: "", responseType: "")
    #expect(throws: RPCError.self) { try outbox().add(method, ListBucketsRequest(), object: "o") }
    #expect(throws: RPCError.self) {
      try outbox().add(NotificationsServiceMethods.watchNotifications, WatchNotificationsRequest(), object: "o")
    }
    #expect(try outbox().entries().isEmpty)
  }

  @Test func callsOfOneObjectAreSentInOrder() async throws {
    let outbox = outbox()
    for index in 0..<20 { try outbox.add(create, request("\(index)"), object: "o\(index % 3)") }
    let caller = FakeCaller()
    #expect(try await outbox.sendNow(through: caller) == 0)
    let titles = try caller.requests.map {
      Int(try CreateNotificationRequest(jsonString: $0).notification?.title ?? "") ?? -1
    }
    #expect(titles.count == 20)
    for object in 0..<3 {
      let own = titles.filter { $0 % 3 == object }
      #expect(own == own.sorted())
    }
    #expect(try outbox.entries().isEmpty)
  }

  @Test func refusalComesBackWithItsReasonAndSurvivesARestart() async throws {
    let refused = RPCError(
      .failedPrecondition, "the meeting is over", reason: "MEETING_OVER", errorMetadata: ["id": "m"],
      fieldViolations: [.init(field: "f", description: "d")])
    let caller = FakeCaller { _, json in String(decoding: json, as: UTF8.self).contains("bad") ? refused : nil }
    let first = outbox()
    let bad = try first.add(create, request("bad"), object: "o")
    try first.add(create, request("good"), object: "o")
    #expect(try await first.sendNow(through: caller) == 0)
    let second = outbox()
    #expect(try second.refusals() == [OutboxRefusal(entry: bad, error: refused)])
    try second.remove(bad.id)
    #expect(try first.refusals().isEmpty)
    #expect(caller.requests.count == 2)
  }

  @Test func unsentCallRemainsFirst() async throws {
    let outbox = outbox()
    try outbox.add(create, request("a"), object: "o")
    try outbox.add(create, request("b"), object: "o")
    let offline = FakeCaller { _, _ in RPCError(.unavailable, "offline") }
    #expect(try await outbox.sendNow(through: offline) == 2)
    #expect(offline.requests.count == 1)
    let online = FakeCaller()
    #expect(try await outbox.sendNow(through: online) == 0)
    #expect(online.requests.first == offline.requests.first)
  }

  @Test func fullOutboxRefusesFurtherCalls() async throws {
    var limits = OutboxLimits()
    limits.entriesMax = 3
    let outbox = outbox(limits)
    for index in 0..<3 { try outbox.add(create, request("\(index)"), object: "o") }
    let error = await rpcError { try outbox.add(create, request("x"), object: "o") }
    #expect(error?.reason == "OUTBOX_FULL")
    #expect(try await outbox.sendNow(through: FakeCaller()) == 0)
    #expect(throws: Never.self) { try outbox.add(create, request("x"), object: "o") }
  }

  @Test func fileIsRewrittenOnceMostOfItIsObsolete() async throws {
    let (first, second) = (outbox(), outbox())
    let text = String(repeating: "x", count: 10_000)
    var last: UInt64 = 0
    for _ in 0..<40 {
      last = try first.add(create, request(text), object: "o").id
      try await second.sendNow(through: FakeCaller())
    }
    #expect(fileBytes < 120_000)
    let third = outbox()
    #expect(try third.entries().isEmpty)
    #expect(try third.add(create, request("a"), object: "o").id == last + 1)
    #expect(try first.entries().count == 1 && second.entries().count == 1)
  }

  @Test func tornTailIsCutAtEveryByte() throws {
    let first = outbox()
    let kept = try first.add(create, request("kept"), object: "o")
    let keptBytes = fileBytes
    try first.add(create, request("torn"), object: "o")
    let whole = try Data(contentsOf: URL(fileURLWithPath: folder.path("outbox")))
    for count in keptBytes..<whole.count {
      try whole.prefix(count).write(to: URL(fileURLWithPath: folder.path("outbox")))
      let outbox = outbox()
      #expect(try outbox.entries() == [kept])
      #expect(fileBytes == keptBytes)
      let next = try outbox.add(create, request("next"), object: "o")
      #expect(try self.outbox().entries() == [kept, next])
    }
  }

  @Test func unfinishedFirstLineIsAnEmptyOutbox() throws {
    for count in 0..<8 {
      try Data("CMPOBX01".utf8.prefix(count)).write(to: URL(fileURLWithPath: folder.path("outbox")))
      #expect(try outbox().entries().isEmpty)
    }
  }

  @Test func anotherFileIsLeftAlone() async throws {
    let text = Data("a file of another program".utf8)
    try text.write(to: URL(fileURLWithPath: folder.path("outbox")))
    #expect(await rpcError { try outbox().add(create, request("a"), object: "o") }?.reason == "OUTBOX_INVALID")
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("outbox"))) == text)
    let missing = Outbox(path: folder.path("no/such/folder"))
    #expect(await rpcError { try missing.entries() }?.reason == "FILE_UNAVAILABLE")
  }

  @Test func runningOutboxSendsWhatIsAddedAndResumesWithTheNetwork() async throws {
    let isOnline = Locked(false)
    let caller = FakeCaller { _, _ in isOnline.withLock { $0 } ? nil : RPCError(.unavailable, "offline") }
    let outbox = Outbox(path: folder.path("outbox"), environment: TestClock(parksFromMs: 1).environment())
    let task = Task { try await outbox.run(through: caller) }
    try outbox.add(create, request("a"), object: "o")
    try await eventually("an attempt") { caller.requests.count == 1 }
    isOnline.withLock { $0 = true }
    try await eventually("an empty outbox") {
      outbox.reconnect.notify()
      return try outbox.entries().isEmpty
    }
    try outbox.add(create, request("b"), object: "o")
    try await eventually("an empty outbox") { try outbox.entries().isEmpty }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(caller.requests.count == 3)
  }

  @Test func oneSenderIsActiveAtATime() async throws {
    let (first, second) = (outbox(), outbox())
    try first.add(create, request("a"), object: "o")
    let waiting = Locked<CheckedContinuation<Void, Never>?>(nil)
    let slow = FakeCaller { _, _ in
      await withCheckedContinuation { continuation in waiting.withLock { $0 = continuation } }
      return nil
    }
    let task = Task { try await first.sendNow(through: slow) }
    try await eventually("a call") { waiting.withLock { $0 != nil } }
    let idle = FakeCaller()
    #expect(try await second.sendNow(through: idle) == 1)
    #expect(idle.requests.isEmpty)
    waiting.withLock { $0 }?.resume()
    #expect(try await task.value == 0)
  }
}
