import Foundation
import Testing

@testable import CampanileClient
import CampanileNotifications

/// The client with a real gateway. Runs only if `CAMPANILE_CLIENT_URL` and `CAMPANILE_CLIENT_KEY` are set.
@Suite(.enabled(if: Gateway.isThere), .timeLimit(.minutes(2))) struct GatewayTests {
  private let campanile: Campanile

  init() throws {
    campanile = Campanile(try #require(Gateway.url), credentials: FixedCredential(key: try #require(Gateway.key)))
  }

  private var service: NotificationsServiceClient { campanile.notifications.service }

  private func newBucket() async throws -> String {
    let name = "Swift \(UUID().uuidString.prefix(8))"
    return try #require(try await service.createBucket(.init(bucket: .init(name: name))).bucket?.id)
  }

  private func create(_ title: String, _ bucketID: String) -> CreateNotificationRequest {
    .init(notification: .init(bucketId: bucketID, title: title))
  }

  private func titles(_ bucketID: String) async throws -> [String] { try await Gateway.titles(bucketID, campanile) }

  @Test func messagesGoBothWays() async throws {
    let bucketID = try await newBucket()
    let created = try await service.createNotification(create("à 🔔 \"quoted\"", bucketID)).notification
    #expect(created?.id.isEmpty == false)
    #expect(try await titles(bucketID) == ["à 🔔 \"quoted\""])
  }

  @Test func requestIDMakesARepetitionSafe() async throws {
    let bucketID = try await newBucket()
    var request = create("once", bucketID)
    request.requestId = UUID().uuidString
    let first = try await service.createNotification(request).notification?.id
    let second = try await service.createNotification(request).notification?.id
    #expect(first == second)
    #expect(try await titles(bucketID) == ["once"])
  }

  @Test func errorHasReasonAndViolations() async throws {
    let bucketID = try await newBucket()
    let invalid = await rpcError { try await service.createNotification(create("", bucketID)) }
    #expect(invalid?.code == .invalidArgument && invalid?.fieldViolations.isEmpty == false)
    let missing = await rpcError { try await service.getBucket(.init(bucketId: "b_none")) }
    #expect(missing?.reason.isEmpty == false && missing?.reason != missing?.code.name)
    let wrong = Campanile(
      try #require(Gateway.url), credentials: FixedCredential(key: "cmp_" + String(repeating: "A", count: 43)))
    #expect(await rpcError { try await wrong.notifications.service.listBuckets(.init()) }?.code == .unauthenticated)
    let watch = wrong.notifications.watch()
    #expect(await rpcError { for try await _ in watch {} }?.code == .unauthenticated)
  }

  @Test func longListIsRead() async throws {
    let bucketID = try await newBucket()
    let request = BatchCreateNotificationsRequest(
      requests: (0..<100).map { create("\($0) " + String(repeating: "à", count: 200), bucketID) })
    _ = try await service.batchCreateNotifications(request)
    #expect(try await titles(bucketID).count == 100)
    var configuration = HTTPCallerConfiguration()
    configuration.responseBytesMax = 10_000
    let bounded = Campanile(
      try #require(Gateway.url), credentials: FixedCredential(key: try #require(Gateway.key)),
      configuration: configuration)
    let error = await rpcError {
      try await bounded.notifications.service.listNotifications(.init(pageSize: 100, bucketId: bucketID))
    }
    #expect(error?.reason == "RESPONSE_TOO_LARGE")
  }

  @Test func watchReceivesChanges() async throws {
    let bucketID = try await newBucket()
    #expect(try await received(campanile, bucketID, count: 20) == (0..<20).map(String.init))
  }

  @Test(.enabled(if: Gateway.cuttingURL != nil))
  func watchLosesNothingOverCutConnections() async throws {
    let bucketID = try await newBucket()
    var watching = WatchConfiguration()
    watching.backoff.initialDelay = .milliseconds(10)
    let cut = Campanile(
      try #require(Gateway.cuttingURL), credentials: FixedCredential(key: try #require(Gateway.key)), watching: watching
    )
    #expect(try await received(cut, bucketID, count: 100) == (0..<100).map(String.init))
  }

  /// Watches a bucket through one client, publishes through the other, and returns the titles received.
  private func received(_ watching: Campanile, _ bucketID: String, count: Int) async throws -> [String] {
    var titles: [String] = []
    var isPublishing = false
    for try await event in watching.notifications.watch(.init(bucketId: bucketID)) {
      switch event {
      case .started where !isPublishing:
        isPublishing = true
        Task { for index in 0..<count { _ = try await service.createNotification(create("\(index)", bucketID)) } }
      case .change(let change, _):
        if case .notificationCreated(let notification)? = change.change { titles.append(notification.title) }
      case .gap: Issue.record("a gap")
      default: break
      }
      if titles.count >= count { break }
    }
    return titles
  }

  @Test(.enabled(if: Gateway.servicePID != nil))
  func watchAndOutboxSurviveARestartOfTheService() async throws {
    let pid = try #require(Gateway.servicePID)
    let folder = try TestFolder()
    let bucketID = try await newBucket()
    let outbox = Outbox(path: folder.path("outbox"))
    let sending = Task { try await outbox.run(through: campanile.caller) }
    defer { sending.cancel() }
    let method = NotificationsServiceMethods.createNotification
    var (titles, isStarted) = ([String](), false)
    for try await event in campanile.notifications.watch(.init(bucketId: bucketID)) {
      if case .started = event, !isStarted {
        isStarted = true
        try outbox.add(method, create("before", bucketID), object: bucketID)
      }
      guard case .change(let change, _) = event, case .notificationCreated(let created)? = change.change else {
        continue
      }
      titles.append(created.title)
      if titles.count == 1 {
        kill(pid, SIGKILL)
        for index in 0..<5 { try outbox.add(method, create("after \(index)", bucketID), object: bucketID) }
      }
      if titles.count == 6 { break }
    }
    #expect(titles == ["before"] + (0..<5).map { "after \($0)" })
    #expect(try await self.titles(bucketID) == titles)
  }

  @Test func outboxSendsInOrderAndOnce() async throws {
    let folder = try TestFolder()
    let bucketID = try await newBucket()
    let outbox = Outbox(path: folder.path("outbox"))
    for index in 0..<20 {
      try outbox.add(
        NotificationsServiceMethods.createNotification, create("\(index)", bucketID), object: bucketID)
    }
    let refused = try outbox.add(
      NotificationsServiceMethods.createNotification, create("", bucketID), object: bucketID)
    #expect(try await outbox.sendNow(through: campanile.caller) == 0)
    #expect(try await titles(bucketID) == (0..<20).map(String.init))
    let refusal = try outbox.refusals().first
    #expect(refusal?.entry == refused)
    #expect(refusal?.error.code == .invalidArgument && refusal?.error.fieldViolations.isEmpty == false)
  }
}
