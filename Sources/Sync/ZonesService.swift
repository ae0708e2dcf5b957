public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.sync.v1.ZonesService`: zones and their changes.
public struct ZonesService: ZonesServiceProtocol {
  let repository: any SyncRepository
  let hub: WatchHub
  let awake: AwakeDevices
  /// Called with users whose notifications must be exported to files.
  let wantsExport: @Sendable (String) async throws -> Void

  private var limits: SyncLimits { repository.limits }

  public func createZone(_ request: CreateZoneRequest, context: CallContext) async throws -> CreateZoneResponse {
    let user = try await context.requireWritingUser(repository)
    let zone = try Self.zone(request, request.zoneId)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: ZonesServiceMethods.createZone, user: user)
    return CreateZoneResponse(zone: try await repository.createZone(zone, user: user, idempotency: idempotency))
  }

  public func getZone(_ request: GetZoneRequest, context: CallContext) async throws -> GetZoneResponse {
    let user = try context.requireUser()
    let zone = try Self.zone(request, request.zoneId)
    let stored = try await repository.zone(zone, user: user)
    return GetZoneResponse(zone: stored.message(limits, isExporting: repository.isExporting))
  }

  public func updateZone(_ request: UpdateZoneRequest, context: CallContext) async throws -> UpdateZoneResponse {
    let user = try await context.requireWritingUser(repository)
    let zone = try Self.zone(request, request.zoneId)
    let change = ZoneChangeDraft(
      zone: zone, exportsNotifications: request.exportsNotifications, etag: request.etag)
    let response = UpdateZoneResponse(zone: try await repository.updateZone(change, user: user))
    if response.zone?.exportsNotifications == true { try await wantsExport(user) }
    return response
  }

  public func listZones(_ request: ListZonesRequest, context: CallContext) async throws -> ListZonesResponse {
    let user = try context.requireUser()
    let query = try PositionQuery(
      user: user, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["zones"], parts: 1, limits: limits)
    var response = ListZonesResponse()
    (response.zones, response.nextPageToken) = query.page(try await repository.zones(query)) { [$0.id] }
    response.storage = try await repository.storage(user: user)
    return response
  }

  public func deleteZone(_ request: DeleteZoneRequest, context: CallContext) async throws -> DeleteZoneResponse {
    let user = try await context.requireWritingUser(repository)
    let zone = try Self.zone(request, request.zoneId)
    try await repository.deleteZone(zone, isForced: request.force, etag: request.etag, user: user)
    return DeleteZoneResponse()
  }

  public func listZoneChanges(
    _ request: ListZoneChangesRequest, context: CallContext
  ) async throws -> ListZoneChangesResponse {
    let user = try context.requireUser()
    let zone = try Self.zone(request, request.zoneId)
    let start = ChangesStart(request.resumeToken, fromStart: request.fromStart)
    var position = try await repository.position(start, zone: zone, user: user)
    // A commit since then belongs to the next page.
    if start == .present { return ListZoneChangesResponse(resumeToken: position.text(user: user)) }
    let count = Paging.size(request.pageSize, limits)
    let page = try await repository.changes(
      after: position, zone: zone, user: user, countMax: count,
      filter: ChangeFilter(recordTypes: request.recordTypes, names: request.names, zone: zone))
    position.revision = page.revision
    return ListZoneChangesResponse(
      changes: page.changes, resumeToken: position.text(user: user), hasMore: page.hasMore)
  }

  public func watchZoneChanges(
    _ request: WatchZoneChangesRequest, context: CallContext, responses: ResponseSink<WatchZoneChangesResponse>
  ) async throws {
    let user = try context.requireUser()
    let zone = try Self.zone(request, request.zoneId)
    let watch = ZoneWatch(
      repository: repository, hub: hub,
      filter: ChangeFilter(recordTypes: request.recordTypes, names: request.names, zone: zone))
    try await awake.during(context.boundDevice, user: user) {
      try await watch.run(
        zone: zone, start: ChangesStart(request.resumeToken, fromStart: request.fromStart), user: user
      ) { try await responses.send($0) }
    }
  }

  public func listSyncUsers(
    _ request: ListSyncUsersRequest, context: CallContext
  ) async throws -> ListSyncUsersResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["sync-users", request.userIdPrefix], parts: 1, limits: limits)
    let (users, nextPageToken) = query.page(try await repository.users(query, prefix: request.userIdPrefix)) {
      [$0.userId]
    }
    return ListSyncUsersResponse(users: users, nextPageToken: nextPageToken)
  }

  /// Validates a request, and returns its zone.
  private static func zone(_ request: some ValidatedMessage, _ name: String) throws(RPCError) -> String {
    var violations = Violations()
    request.validate(into: &violations)
    let zone = NameRules.zone(name, &violations)
    try violations.check()
    return zone
  }
}
