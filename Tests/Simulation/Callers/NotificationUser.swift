import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import Notifications

/// A user with notifications, who repeats failed calls with the same request id.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class NotificationUser: @unchecked Sendable {
  let name: String
  private let book: CallBook
  private let client: NotificationsServiceClient
  private var chance: SplitMix64
  private var bucketID = ""
  /// By title. Each notification has one request id.
  private var creations: [(title: String, fate: Fate, id: String?)] = []
  /// Ids of notifications that a call may have deleted.
  private var deletions: [String: Fate] = [:]
  private var world: World { book.world }

  init(_ name: String, _ book: CallBook, _ client: RPCClient) {
    (self.name, self.book) = (name, book)
    self.client = NotificationsServiceClient(client)
    chance = book.world.chance(name)
  }

  private func requestID() -> String {
    let (a, b) = (String(chance.next(), radix: 16), String(chance.next(), radix: 16))
    return "\(a)-\(b)"
  }

  private func call<R: Sendable>(
    _ label: String, _ body: (CallOptions) async throws -> R
  ) async -> Result<R, RPCError> {
    await book.make("\(label) \(name)", timeoutMs: Int64(30 + chance.below(400)), body, user: name)
  }

  func run(stepCount: Int) async {
    await makeBucket()
    for _ in 0..<stepCount {
      switch chance.below(10) {
      case 0...4: await create()
      case 5...6: await mark(isRead: true)
      case 7: await mark(isRead: false)
      case 8: await delete()
      default: _ = await call("GetUnreadCounts") { try await client.getUnreadCounts(.init(), options: $0) }
      }
      await world.sleep(ms: Int64(chance.below(80)))
    }
  }

  private func makeBucket() async {
    let request = CreateBucketRequest(bucket: Bucket.with { $0.name = "bucket" }, requestId: requestID())
    for _ in 0..<200 where bucketID.isEmpty {
      let result = await call("CreateBucket") { try await client.createBucket(request, options: $0) }
      if case .success(let reply) = result { bucketID = reply.bucket?.id ?? "" } else { await world.sleep(ms: 20) }
    }
    world.check(!bucketID.isEmpty, "\(name) did not get a bucket")
  }

  private func create() async {
    let title = "\(name)-\(creations.count)"
    let index = creations.count
    creations.append((title, Fate(), nil))
    let request = CreateNotificationRequest(
      notification: Notification.with { ($0.title, $0.bucketId) = (title, bucketID) }, requestId: requestID())
    for _ in 0..<(1 + chance.below(3)) {
      let result = await call("Create \(title)") { try await client.createNotification(request, options: $0) }
      creations[index].fate.note(result)
      if case .success(let reply) = result {
        let id = reply.notification?.id
        world.check(
          creations[index].id == nil || creations[index].id == id,
          "\(title) has two ids for one request id")
        creations[index].id = id
        // Sometimes repeats a successful call, as a client does whose process ended before it stored the response.
        if !chance.oneIn(4) { return }
      }
      await world.sleep(ms: Int64(chance.below(60)))
    }
  }

  private var someID: String? {
    let ids = creations.compactMap(\.id)
    return ids.isEmpty ? nil : ids[chance.below(ids.count)]
  }

  private func mark(isRead: Bool) async {
    guard let id = someID else { return }
    if isRead {
      let request = MarkNotificationsReadRequest.with { $0.notificationIds = [id] }
      _ = await call("MarkRead") { try await client.markNotificationsRead(request, options: $0) }
    } else {
      let request = MarkNotificationsUnreadRequest.with { $0.notificationIds = [id] }
      _ = await call("MarkUnread") { try await client.markNotificationsUnread(request, options: $0) }
    }
  }

  private func delete() async {
    guard let id = someID else { return }
    let request = BatchDeleteNotificationsRequest.with { $0.notificationIds = [id] }
    deletions[id, default: Fate()].note(
      await call("Delete") { try await client.batchDeleteNotifications(request, options: $0) })
  }

  // MARK: final checks

  /// Runs after all activity has ended, and queries the service directly.
  func verify(_ service: NotificationsService) async {
    let context = CallContext(
      method: NotificationsServiceMethods.listNotifications, principal: Principal(kind: .user, id: name))
    do {
      let found = try await list(service, context)
      verify(found)
      let counts = try await service.getUnreadCounts(.init(), context: context).unreadCounts
      let unread = found.count { $0.readTime == nil }
      world.check(
        Int(counts?.total ?? 0) == unread, "\(name): \(counts?.total ?? 0) unread reported, but \(unread) found")
      world.check(
        Int(counts?.byBucket[bucketID] ?? 0) == unread, "\(name): the bucket's unread count differs from a recount")
    } catch {
      world.check(false, "\(name): the service fails at the end: \(error)")
    }
  }

  private func list(_ service: NotificationsService, _ context: CallContext) async throws -> [Notification] {
    var request = ListNotificationsRequest(pageSize: 50)
    var found: [Notification] = []
    repeat {
      let page = try await service.listNotifications(request, context: context)
      found += page.notifications
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    return found
  }

  private func verify(_ found: [Notification]) {
    var byTitle: [String: [Notification]] = [:]
    for notification in found { byTitle[notification.title, default: []].append(notification) }
    for (title, fate, id) in creations {
      let matching = byTitle[title] ?? []
      world.check(matching.count <= 1, "\(title) exists \(matching.count) times with one request id")
      world.check(
        fate.isPossible || matching.isEmpty, "\(title) exists, but every attempt was reported as not executed")
      guard let id else { continue }
      let deletion = deletions[id] ?? Fate()
      if !deletion.isPossible {
        world.check(matching.first?.id == id, "\(title) was acknowledged as \(id), but is missing")
      }
      if deletion.isDone { world.check(matching.isEmpty, "\(title) exists, but its deletion was acknowledged") }
    }
  }
}
