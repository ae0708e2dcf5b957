import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

/// A component with a store file of its own and a clock that the test controls.
final class Fixture: Sendable {
  let folder: TemporaryFolder
  let clock = TestClock()
  let limits: NotificationsLimits
  let retention: ChangeRetention

  init(_ limits: NotificationsLimits = NotificationsLimits(), retention: ChangeRetention = ChangeRetention()) throws {
    self.limits = limits
    self.retention = retention
    folder = try TemporaryFolder()
  }

  /// Another process on the database of a fixture, with a clock of its own.
  init(sharing other: Fixture) throws {
    (limits, retention, folder) = (other.limits, other.retention, other.folder)
    clock.nowMs = other.clock.nowMs
  }

  var configuration: StoreConfiguration {
    get throws { try TestStore.configuration(folder.file("notifications.sqlite")) }
  }

  func open() async throws -> NotificationsComponent {
    try await NotificationsComponent(
      store: configuration, limits: limits, retention: retention, nowMs: { self.clock.nowMs },
      random: { UInt64.random(in: .min ... .max) })
  }
}

extension NotificationTimerLoop {
  /// Runs one round of timers and the action attempts that it starts.
  func runDue() async throws -> Int {
    var attempts: [CampanileService.DueTimer<NotificationTimerKind>] = []
    let count = try await runDue { attempts.append($0) }
    for timer in attempts { await runAlone(timer) }
    return count
  }
}

func bucket(_ name: String, requestID: String = "") -> CreateBucketRequest {
  var request = CreateBucketRequest(bucket: Bucket())
  request.bucket?.name = name
  request.requestId = requestID
  return request
}

func notification(_ title: String, in bucketID: String, requestID: String = "") -> CreateNotificationRequest {
  let draft = Notification(bucketId: bucketID, title: title)
  return CreateNotificationRequest(notification: draft, requestId: requestID)
}

/// Creates a notification of anna.
func publish(
  in bucketID: String, _ component: NotificationsComponent, _ change: (inout Notification) -> Void
) async throws -> Notification {
  var draft = Notification(bucketId: bucketID, title: "n")
  change(&draft)
  return try #require(
    try await component.service.createNotification(.init(notification: draft), context: anna).notification)
}

extension NotificationsService {
  func makeBucket(_ name: String, _ context: CallContext) async throws -> Bucket {
    try #require(try await createBucket(bucket(name), context: context).bucket)
  }

  func make(_ title: String, in bucketID: String, _ context: CallContext) async throws -> Notification {
    try #require(try await createNotification(notification(title, in: bucketID), context: context).notification)
  }

  func all(_ context: CallContext, pageSize: Int32 = 7, _ change: (inout ListNotificationsRequest) -> Void = { _ in })
    async throws -> [Notification]
  {
    var request = ListNotificationsRequest(pageSize: pageSize)
    change(&request)
    var found: [Notification] = []
    repeat {
      let page = try await listNotifications(request, context: context)
      found += page.notifications
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    return found
  }
}

extension NotificationsService {
  func mark(_ ids: [String], isRead: Bool, _ context: CallContext) async throws {
    if isRead {
      _ = try await markNotificationsRead(MarkNotificationsReadRequest(notificationIds: ids), context: context)
    } else {
      _ = try await markNotificationsUnread(MarkNotificationsUnreadRequest(notificationIds: ids), context: context)
    }
  }
}

extension NotificationsService {
  /// Sets or ends the snooze of a bucket.
  func snooze(_ bucketID: String, until end: ProtoTimestamp?, _ context: CallContext) async throws {
    let request = UpdateBucketSettingsRequest(
      settings: BucketSettings(bucketId: bucketID, snoozeEndTime: end), updateMask: mask("snooze_end_time"))
    _ = try await updateBucketSettings(request, context: context)
  }
}

extension SharingService {
  /// Shares a bucket with a user, who accepts the invitation if there is one.
  func share(
    _ bucketID: String, with member: String, as role: BucketRole, by owner: String, until: ProtoTimestamp? = nil
  ) async throws {
    let request = ShareBucketRequest(bucketId: bucketID, userId: member, role: role, expireTime: until)
    guard let invitation = try await shareBucket(request, context: user(owner)).invitation else { return }
    _ = try await acceptInvitation(.of(invitation.id), context: user(member))
  }

  func invite(_ member: String, to bucketID: String, as role: BucketRole = .reader, by owner: String) async throws
    -> Invitation
  {
    let request = InviteToBucketRequest(bucketId: bucketID, userId: member, role: role)
    return try #require(try await inviteToBucket(request, context: user(owner)).invitation)
  }

  func received(by member: String) async throws -> [Invitation] {
    try await listInvitations(.init(), context: user(member)).invitations
  }
}

extension WatchNotificationsResponse {
  /// The change of an event; nil for the start.
  var change: NotificationChange.Change? {
    if case .change(let change)? = event { change.change } else { nil }
  }
}

extension AcceptInvitationRequest {
  static func of(_ id: String) -> AcceptInvitationRequest {
    AcceptInvitationRequest(invitationId: id)
  }
}

extension TestClock {
  /// A time after now.
  func time(afterMs: Int64) -> ProtoTimestamp { ProtoTimestamp(millisecondsSince1970: nowMs + afterMs) }
}
