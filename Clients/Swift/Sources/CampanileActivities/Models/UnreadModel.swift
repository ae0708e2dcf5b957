public import CampanileClient
public import CampanileNotifications
import Foundation
public import Observation

/// The unread notifications of a user, for a screen.
///
/// ```swift
/// @State var unread = UnreadModel(campanile, outbox: outbox)
/// List(unread.notifications) { Text($0.title) }.task { await unread.run() }
/// ```
@MainActor @Observable public final class UnreadModel {
  /// Newest first, without those that the user has read or deleted on this device.
  public private(set) var notifications: [CampanileNotifications.Notification] = []
  /// The names and icons of the buckets, by id.
  public private(set) var buckets: [String: Bucket] = [:]
  /// Whether the list may be out of date, because there is no connection.
  public private(set) var isStale = true
  /// The last failure; `nil` after a success.
  public private(set) var error: RPCError?

  public var unreadCount: Int { notifications.count }

  @ObservationIgnored private let campanile: Campanile
  @ObservationIgnored private let outbox: Outbox
  @ObservationIgnored private var list = UnreadList()
  /// The maximum number of notifications that the model keeps.
  static let notificationsMax = 1_000

  public init(_ campanile: Campanile, outbox: Outbox) {
    self.campanile = campanile
    self.outbox = outbox
  }

  /// Loads the list and follows its changes until the task is cancelled, or the server refuses the watch.
  public func run() async {
    do {
      try await load()
      let waiting = Task { for await _ in outbox.changes() { await self.outboxChanged() } }
      defer { waiting.cancel() }
      for try await event in campanile.notifications.watch(.init(resumeToken: resumeToken)) {
        try await handle(event)
      }
    } catch is CancellationError {
    } catch {
      self.error = error as? RPCError ?? RPCError(.unknown, "\(error)")
    }
    isStale = true
  }

  /// Marks notifications as read: at once here, and on the server once there is a network.
  public func markRead(_ ids: String...) { queue(NotificationsServiceMethods.markNotificationsRead, ids) }

  /// Deletes notifications: at once here, and on the server once there is a network.
  public func delete(_ ids: String...) { queue(NotificationsServiceMethods.deleteNotification, ids) }

  @ObservationIgnored private var resumeToken = ""

  private func load() async throws {
    updateWaiting()
    var request = ListNotificationsRequest(pageSize: 200, unreadOnly: true)
    var loaded: [CampanileNotifications.Notification] = []
    var token: String?
    repeat {
      let page = try await campanile.notifications.service.listNotifications(request)
      loaded += page.notifications
      token = token ?? page.resumeToken
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty && loaded.count < Self.notificationsMax
    let page = try await campanile.notifications.service.listBuckets(.init(pageSize: 1_000))
    buckets = Dictionary(page.buckets.map { ($0.id, $0) }) { first, _ in first }
    resumeToken = token ?? ""
    list.replace(by: loaded)
    publish()
    (isStale, error) = (false, nil)
  }

  private func handle(_ event: WatchEvent<NotificationChange>) async throws {
    switch event {
    case .started, .reached: (isStale, error) = (false, nil)
    case .change(let change, let token):
      resumeToken = token
      switch change.change {
      case .bucketCreated(let bucket), .bucketUpdated(let bucket): buckets[bucket.id] = bucket
      case .bucketDeleted(let deleted): buckets[deleted.bucketId] = nil
      default: break
      }
      list.apply(change)
      publish()
    case .gap: try await load()
    case .waiting(let cause, _): (isStale, error) = (true, cause)
    }
  }

  private func queue(_ method: MethodDescriptor, _ ids: [String]) {
    do throws(RPCError) {
      for id in ids {
        if method.path == NotificationsServiceMethods.deleteNotification.path {
          try outbox.add(method, DeleteNotificationRequest(notificationId: id), object: id)
        } else {
          try outbox.add(method, MarkNotificationsReadRequest(notificationIds: [id]), object: id)
        }
      }
    } catch {
      self.error = error
    }
    updateWaiting()
  }

  private func outboxChanged() async {
    // After a refusal the server's list is the truth.
    if updateWaiting(), !((try? outbox.refusals()) ?? []).isEmpty { try? await load() }
  }

  @discardableResult
  private func updateWaiting() -> Bool {
    var ids: Set<String> = []
    for entry in (try? outbox.entries()) ?? [] {
      if let request: MarkNotificationsReadRequest = entry.request(
        of: NotificationsServiceMethods.markNotificationsRead)
      {
        ids.formUnion(request.notificationIds)
      }
      if let request: DeleteNotificationRequest = entry.request(of: NotificationsServiceMethods.deleteNotification) {
        ids.insert(request.notificationId)
      }
    }
    let hasLeft = list.waits(for: ids)
    publish()
    return hasLeft
  }

  private func publish() {
    if notifications != list.notifications { notifications = list.notifications }
  }
}
