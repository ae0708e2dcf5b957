public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService
import CampanileStore

/// Serves `campanile.notifications.v1.ContainersService`: the change feed and the reads of the service that stores
/// files for devices.
public struct ContainersService: ContainersServiceProtocol {
  private static let pieceRecords = 100

  static let usersSQL = "SELECT user_id FROM users WHERE user_id > $1 ORDER BY user_id LIMIT $2"

  let store: Store
  let limits: NotificationsLimits
  let epoch: UInt64
  /// Signalled after every commit.
  let hub: WatchHub

  public func listUsers(_ request: ListUsersRequest, context: CallContext) async throws -> ListUsersResponse {
    try context.requireOperator()
    let query = try PositionQuery(
      user: ChangedUsersWatch.scope, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["users"],
      parts: 1, limits: limits)
    let (found, last) = try await store.read { transaction in
      let last = try transaction.lastChange()
      let users = try transaction.query(
        Self.usersSQL, [.text(query.position.first ?? ""), .int(query.pageSize + 1)]
      ) { try $0.text(0) }
      return (users, last)
    }
    let (users, nextPageToken) = query.page(found) { [$0] }
    let token = ResumeToken(epoch: epoch, sequence: last).text(user: ChangedUsersWatch.scope)
    return ListUsersResponse(userIds: users, nextPageToken: nextPageToken, resumeToken: token)
  }

  public func watchChangedUsers(
    _ request: WatchChangedUsersRequest, context: CallContext, responses: ResponseSink<WatchChangedUsersResponse>
  ) async throws {
    try context.requireOperator()
    try await ChangedUsersWatch(store: store, epoch: epoch, hub: hub).run(resumeToken: request.resumeToken) {
      try await responses.send($0)
    }
  }

  public func readContainers(
    _ request: ReadContainersRequest, context: CallContext, responses: ResponseSink<ReadContainersResponse>
  ) async throws {
    try context.requireOperator()
    try request.checkConstraints()
    let containers = try await ContainerRows.read(
      user: request.userId, notificationsMax: Int(request.notificationsMax), store)
    for start in stride(from: 0, to: containers.buckets.count, by: Self.pieceRecords) {
      let piece = Array(containers.buckets[start..<min(start + Self.pieceRecords, containers.buckets.count)])
      try await responses.send(.with { $0.piece = .buckets(.with { $0.buckets = piece }) })
    }
    for start in stride(from: 0, to: containers.notifications.count, by: Self.pieceRecords) {
      let end = min(start + Self.pieceRecords, containers.notifications.count)
      let piece = Array(containers.notifications[start..<end])
      try await responses.send(.with { $0.piece = .notifications(.with { $0.notifications = piece }) })
    }
  }
}
