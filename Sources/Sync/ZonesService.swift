public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.sync.v1.ZonesService`: zones and their changes.
public struct ZonesService: ZonesServiceProtocol {
  let repository: any SyncRepository
  let hub: WatchHub

  private var limits: SyncLimits { repository.limits }

  public func createZone(_ request: CreateZoneRequest, context: CallContext) async throws -> CreateZoneResponse {
    let user = try context.requireUser()
    let zone = try Self.zone(request, request.zone)
    return CreateZoneResponse(zone: try await repository.createZone(zone, user: user))
  }

  public func getZone(_ request: GetZoneRequest, context: CallContext) async throws -> GetZoneResponse {
    let user = try context.requireUser()
    return GetZoneResponse(zone: try repository.zone(try Self.zone(request, request.zone), user: user).message(limits))
  }

  public func listZones(_ request: ListZonesRequest, context: CallContext) async throws -> ListZonesResponse {
    let user = try context.requireUser()
    let query = try PositionQuery(
      user: user, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["zones"], parts: 1, limits: limits)
    var response = ListZonesResponse()
    (response.zones, response.nextPageToken) = query.page(try repository.zones(query)) { [$0.name] }
    response.storage = try repository.storage(user: user)
    return response
  }

  public func deleteZone(_ request: DeleteZoneRequest, context: CallContext) async throws -> DeleteZoneResponse {
    let user = try context.requireUser()
    try await repository.deleteZone(try Self.zone(request, request.zone), isForced: request.force, user: user)
    return DeleteZoneResponse()
  }

  public func listZoneChanges(
    _ request: ListZoneChangesRequest, context: CallContext
  ) async throws -> ListZoneChangesResponse {
    let user = try context.requireUser()
    let zone = try Self.zone(request, request.zone)
    let count = Paging.size(request.pageSize, limits)
    var position = try repository.position(request.resumeToken, zone: zone, user: user, startsNow: false)
    let page = try repository.revisions(after: position, zone: zone, user: user, countMax: count)
    var response = ListZoneChangesResponse(revisions: page.revisions, more: page.more)
    if let last = response.revisions.last { position.revision = last.revision }
    response.resumeToken = position.text(user: user)
    return response
  }

  public func watchZoneChanges(
    _ request: WatchZoneChangesRequest, context: CallContext, responses: ResponseSink<WatchZoneChangesResponse>
  ) async throws {
    let user = try context.requireUser()
    let zone = try Self.zone(request, request.zone)
    try await ZoneWatch(repository: repository, hub: hub).run(
      zone: zone, resumeToken: request.resumeToken, user: user
    ) { try await responses.send($0) }
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
