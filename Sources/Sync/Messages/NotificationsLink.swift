public import CampanileAPI
import CampanileBase
public import CampanileRPC
import CampanileService

/// The service that stores notifications: `campanile-notifications`.
public protocol NotificationsLinking: Sendable {
  /// Marks a user's notification as read. A missing notification is not an error.
  func markRead(_ id: String, user: String) async throws
  /// Deletes a user's notification. A missing notification is not an error.
  func delete(_ id: String, user: String) async throws
  /// Returns a page of the ids of all users with data.
  func users(pageToken: String) async throws -> ListUsersResponse
  /// Calls `body` with the users whose data changes after a token, until the connection ends. Throws OUT_OF_RANGE,
  /// reason `TOKEN_TOO_OLD`, if these changes are no longer stored.
  func changedUsers(since token: String, _ body: (WatchChangedUsersResponse) async throws -> Void) async throws
  /// Returns a consistent snapshot of a user's buckets and newest notifications.
  func containers(user: String, notificationsMax: Int) async throws -> ([Bucket], [Notification])
}

/// Calls the notifications service over the suite's wire protocol.
public struct NotificationsLink: NotificationsLinking {
  private static let timeoutMs: Int64 = 10_000

  private let notifications: NotificationsServiceClient
  private let exports: ContainersServiceClient

  /// Creates a link. `caller` must present the internal token.
  public init(_ caller: any RPCCaller) {
    notifications = NotificationsServiceClient(caller)
    exports = ContainersServiceClient(caller)
  }

  public func markRead(_ id: String, user: String) async throws {
    let request = MarkNotificationsReadRequest(notificationIds: [id])
    _ = try await notifications.markNotificationsRead(request, options: options(user))
  }

  public func delete(_ id: String, user: String) async throws {
    let request = BatchDeleteNotificationsRequest(notificationIds: [id])
    _ = try await notifications.batchDeleteNotifications(request, options: options(user))
  }

  public func users(pageToken: String) async throws -> ListUsersResponse {
    let request = ListUsersRequest(pageSize: 1_000, pageToken: pageToken)
    var options = service
    options.timeoutMs = Self.timeoutMs
    return try await exports.listUsers(request, options: options)
  }

  public func changedUsers(
    since token: String, _ body: (WatchChangedUsersResponse) async throws -> Void
  ) async throws {
    let request = WatchChangedUsersRequest(resumeToken: token)
    for try await response in exports.watchChangedUsers(request, options: service) { try await body(response) }
  }

  public func containers(user: String, notificationsMax: Int) async throws -> ([Bucket], [Notification]) {
    let request = ReadContainersRequest(userId: user, notificationsMax: Int32(clamping: notificationsMax))
    var options = service
    options.timeoutMs = Self.timeoutMs
    var buckets: [Bucket] = []
    var found: [Notification] = []
    for try await response in exports.readContainers(request, options: options) {
      switch response.piece {
      case .buckets(let piece): buckets += piece.buckets
      case .notifications(let piece): found += piece.notifications
      case nil: break
      }
    }
    return (buckets, found)
  }

  private var service: CallOptions {
    .from(service: "campanile-sync", scope: "notifications:operate")
  }

  private func options(_ user: String) -> CallOptions {
    CallOptions(
      timeoutMs: Self.timeoutMs, metadata: [Principal.metadataKey: Principal(kind: .user, id: user).name])
  }
}
