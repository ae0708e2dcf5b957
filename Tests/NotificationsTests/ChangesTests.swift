import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct ChangesTests {
  private typealias Request = ListNotificationChangesRequest

  private func list(
    _ component: NotificationsComponent, from token: String, bucketID: String = "", pageSize: Int32 = 0,
    _ context: CallContext = anna
  ) async throws -> ListNotificationChangesResponse {
    try await component.service.listNotificationChanges(
      Request(resumeToken: token, pageSize: pageSize, bucketId: bucketID), context: context)
  }

  /// Returns the changes of all pages as short texts, and the last token.
  private func all(
    _ component: NotificationsComponent, from token: String, bucketID: String = "", pageSize: Int32
  ) async throws -> (texts: [String], token: String) {
    var (texts, token): ([String], String) = ([], token)
    while true {
      let page = try await list(component, from: token, bucketID: bucketID, pageSize: pageSize)
      texts += page.changes.map(text)
      token = page.resumeToken
      if !page.hasMore { return (texts, token) }
    }
  }

  private func text(_ change: NotificationChange) -> String {
    switch change.change {
    case .notificationCreated(let one): "+\(one.title)"
    case .notificationUpdated(let one): "=\(one.title)"
    case .notificationDeleted: "-"
    case .bucketCreated(let box): "+[\(box.name)]"
    case .bucketUpdated(let box): "=[\(box.name)]"
    case .bucketDeleted: "-[]"
    case .notificationsMarkedRead: "read"
    case nil: ""
    }
  }

  @Test func invalidRequestsAreRejected() async throws {
    let component = try await Fixture().open()
    let token = try await list(component, from: "").resumeToken
    #expect(faults(await failure { try await list(component, from: token, pageSize: -1) }) == ["pageSize OUT_OF_RANGE"])
    for bad in ["x", token + "A", try await list(component, from: "", bruno).resumeToken] {
      #expect(await failure { try await list(component, from: bad) }?.reason == "RESUME_TOKEN_INVALID")
    }
    #expect(await failure { try await list(component, from: "", bucketID: "b_none") }?.code == .notFound)
    await component.close()
  }

  @Test func withoutATokenBeginsAtThePresent() async throws {
    let component = try await Fixture().open()
    let box = try await component.service.makeBucket("b", anna)
    let first = try await list(component, from: "")
    #expect(first.changes.isEmpty && !first.hasMore)
    _ = try await component.service.make("n", in: box.id, anna)
    _ = try await component.service.makeBucket("foreign", bruno)
    let second = try await list(component, from: first.resumeToken)
    #expect(second.changes.map(text) == ["+n"] && !second.hasMore)
    #expect(second.changes.first?.alert == true && second.changes.first?.changeTime != nil)
    let third = try await list(component, from: second.resumeToken)
    #expect(third.changes.isEmpty && third.resumeToken == second.resumeToken)
    await component.close()
  }

  @Test("pages of changes equal a watch from the same token, whatever their size", arguments: [1, 2, 3, 100])
  func pagesEqualAWatch(_ pageSize: Int32) async throws {
    let component = try await Fixture().open()
    let service = component.service
    let start = try await list(component, from: "").resumeToken
    let a = try await service.makeBucket("a", anna)
    let b = try await service.makeBucket("b", anna)
    let one = try await service.make("one", in: a.id, anna)
    _ = try await service.make("two", in: b.id, anna)
    _ = try await service.updateNotification(
      .init(notification: Notification(id: one.id, bucketId: b.id)), context: anna)
    _ = try await service.updateBucketSettings(
      .init(settings: BucketSettings(bucketId: b.id, isMuted: true)), context: anna)
    _ = try await service.markAllNotificationsRead(.init(throughNotificationId: "n_~"), context: anna)
    _ = try await service.deleteNotification(.init(notificationId: one.id), context: anna)
    _ = try await service.deleteBucket(.init(bucketId: a.id), context: anna)
    // Objects that no longer exist are skipped: their deletion follows.
    let everything = try await all(component, from: start, pageSize: pageSize)
    #expect(everything.texts == ["+[b]", "+two", "=[b]", "read", "-", "-[]"])
    #expect(try await list(component, from: everything.token).changes.isEmpty)
    let ofA = try await all(component, from: start, bucketID: a.id, pageSize: pageSize)
    #expect(ofA.texts == ["-", "read", "-[]"])
    #expect(await failure { try await list(component, from: ofA.token, bucketID: a.id) }?.code == .notFound)
    await component.close()
  }

  @Test("bucket changes carry the current bucket with the caller's settings") func bucketsHaveTheirCurrentState()
    async throws
  {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    try await component.sharing.share(box.id, with: "bruno", as: .reader, by: "anna")
    let (hers, his) = (
      try await list(component, from: "").resumeToken, try await list(component, from: "", bruno).resumeToken
    )
    _ = try await service.updateBucketSettings(
      .init(settings: BucketSettings(bucketId: box.id, isMuted: true)), context: bruno)
    #expect(try await list(component, from: hers).changes.isEmpty)
    let changes = try await list(component, from: his, bruno).changes
    let current = try #require(try await service.getBucket(.init(bucketId: box.id), context: bruno).bucket)
    #expect(current.settings?.isMuted == true && changes.map(\.change) == [.bucketUpdated(current)])
    await component.close()
  }

  @Test("changes after the first page's token include all that a list may have missed") func listsThenChanges()
    async throws
  {
    let component = try await Fixture().open()
    let service = component.service
    let boxes = [try await service.makeBucket("a", anna), try await service.makeBucket("c", anna)]
    for index in 0..<4 { _ = try await service.make("n\(index)", in: boxes[0].id, anna) }
    let first = try await service.listNotifications(.init(pageSize: 2), context: anna)
    let buckets = try await service.listBuckets(.init(pageSize: 1), context: anna)
    #expect(buckets.resumeToken == first.resumeToken)
    let late = try await service.make("late", in: boxes[1].id, anna)
    _ = try await service.makeBucket("b", anna)
    let second = try await service.listNotifications(.init(pageSize: 2, pageToken: first.nextPageToken), context: anna)
    #expect(!(first.notifications + second.notifications).contains { $0.id == late.id })
    #expect(try await list(component, from: first.resumeToken).changes.map(text) == ["+late", "+[b]"])
    #expect(try await list(component, from: second.resumeToken).changes.isEmpty)
    await component.close()
  }

  @Test func truncatedLogIsReported() async throws {
    var retention = ChangeRetention()
    retention.rowsMax = 3
    let component = try await Fixture(retention: retention).open()
    let box = try await component.service.makeBucket("b", anna)
    let token = try await list(component, from: "").resumeToken
    for index in 0..<20 { _ = try await component.service.make("\(index)", in: box.id, anna) }
    try await component.maintain(nowMs: 0)
    let old = await failure { try await list(component, from: token) }
    #expect(old?.code == .outOfRange && old?.reason == "TOKEN_TOO_OLD")
    await component.close()
  }

  @Test("pages of large notifications end early, so that they fit into a frame") func pagesHaveAMaximumSize()
    async throws
  {
    let component = try await Fixture().open()
    let service = component.service
    let box = try await service.makeBucket("b", anna)
    let start = try await list(component, from: "").resumeToken
    // Each control character has six bytes in JSON.
    let body = String(repeating: "\u{1}", count: 16_384)
    for index in 0..<50 { _ = try await publish(in: box.id, component) { ($0.title, $0.body) = ("n\(index)", body) } }
    var request = ListNotificationsRequest(pageSize: 1_000)
    var titles: [String] = []
    repeat {
      let page = try await service.listNotifications(request, context: anna)
      #expect(page.jsonUTF8Bytes().count <= 2 << 20 && !page.notifications.isEmpty)
      titles += page.notifications.map(\.title)
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    #expect(titles == (0..<50).reversed().map { "n\($0)" })
    let page = try await list(component, from: start, pageSize: 1_000)
    #expect(page.hasMore && page.jsonUTF8Bytes().count <= 2 << 20)
    #expect(try await all(component, from: start, pageSize: 1_000).texts == (0..<50).map { "+n\($0)" })
    await component.close()
  }
}
