public import CampanileAPI
public import CampanileRPC

/// The service that keeps notifications: `campanile-notifications`.
public protocol NotificationsLinking: Sendable {
  /// Marks a user's notification read. One that is gone is no error.
  func markRead(_ id: String, user: String) async throws
  /// Deletes a user's notification. One that is gone is no error.
  func delete(_ id: String, user: String) async throws
  /// Whose data changes from a token on, until the connection ends.
  func changedUsers(since token: String, _ body: (WatchChangedUsersResponse) async throws -> Void) async throws
  /// A user's buckets and newest notifications at one moment.
  func containers(user: String, notificationsMax: Int) async throws -> ([Bucket], [Notification])
}

/// Reaches it over the suite's own wire.
public struct NotificationsLink: NotificationsLinking {
  private static let timeoutMs: Int64 = 10_000

  private let notifications: NotificationsServiceClient
  private let exports: ContainersServiceClient

  /// `caller` presents the internal token.
  public init(_ caller: any RPCCaller) {
    notifications = NotificationsServiceClient(caller)
    exports = ContainersServiceClient(caller)
  }

  public func markRead(_ id: String, user: String) async throws {
    var request = MarkNotificationsReadRequest()
    request.notificationIds = [id]
    try await ignoringMissing { _ = try await notifications.markNotificationsRead(request, options: options(user)) }
  }

  public func delete(_ id: String, user: String) async throws {
    var request = DeleteNotificationsRequest()
    request.notificationIds = [id]
    try await ignoringMissing { _ = try await notifications.deleteNotifications(request, options: options(user)) }
  }

  public func changedUsers(
    since token: String, _ body: (WatchChangedUsersResponse) async throws -> Void
  ) async throws {
    var request = WatchChangedUsersRequest()
    request.resumeToken = token
    for try await response in exports.watchChangedUsers(request, options: service) { try await body(response) }
  }

  public func containers(user: String, notificationsMax: Int) async throws -> ([Bucket], [Notification]) {
    var request = ReadContainersRequest()
    request.userId = user
    request.notificationsMax = Int32(clamping: notificationsMax)
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
    CallOptions(metadata: [Principal.metadataKey: Principal(kind: .service, id: "campanile-sync").name])
  }

  private func options(_ user: String) -> CallOptions {
    CallOptions(
      timeoutMs: Self.timeoutMs, metadata: [Principal.metadataKey: Principal(kind: .user, id: user).name])
  }

  private func ignoringMissing(_ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as RPCError where error.code == .notFound {}
  }
}
