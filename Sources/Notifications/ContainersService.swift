public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService
import CampanileStore

/// Serves `campanile.notifications.v1.ContainersService`: the change feed and the reads of the service that stores
/// files for devices.
public struct ContainersService: ContainersServiceProtocol {
  private static let pieceRecords = 100

  let store: Store
  let epoch: UInt64
  /// Signalled after every commit.
  let hub: WatchHub

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
    let containers = try ContainerRows.read(
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
