import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteSyncRepository {
  func version(_ version: Int64, of name: String, zone zoneName: String, user: String) async throws -> StoredVersion {
    try await read { transaction in
      let zone = try Self.zone(zoneName, user: user, transaction)
      let name = try transaction.assetName(name, in: zone)
      if version == 0 {
        let current = try transaction.queryOne(
          VersionRow.currentSQL, [.integer(zone.number), .text(name)], VersionRow.version)
        guard let current else { throw RPCError.assetNotFound(name) }
        return current
      }
      let found = try transaction.queryOne(
        VersionRow.oneSQL, [.integer(zone.number), .text(name), .integer(version)], VersionRow.version)
      guard let found else { throw RPCError.versionNotFound(version) }
      return found
    }
  }

  func assets(_ query: PositionQuery, zone zoneName: String, user: String) async throws -> AssetPage {
    try await read { transaction in
      let zone = try Self.zone(zoneName, user: user, transaction)
      if query.position.count == 2, query.position[1] != String(zone.revision) {
        throw RPCError(
          .aborted, "the zone has changed since the first page; list it again", .zoneChanged,
          fieldViolations: [
            .init(
              field: "pageToken", description: "belongs to another revision", reason: Reason.zoneChanged.rawValue)
          ])
      }
      let assets = try transaction.query(
        VersionRow.listSQL,
        [.integer(zone.number), .text(query.position.first ?? ""), .int(query.pageSize + 1)]
      ) { try VersionRow.version($0).asset(in: zoneName) }
      return AssetPage(
        assets: assets, revision: zone.revision,
        position: ZonePosition(epoch: epoch, zone: zone.number, revision: zone.revision))
    }
  }

  func versions(
    _ query: PositionQuery, of name: String, zone zoneName: String, conflictsOnly: Bool
  ) async throws -> [StoredVersion] {
    try await read { transaction in
      let zone = try Self.zone(zoneName, user: query.user, transaction)
      let name = try transaction.assetName(name, in: zone)
      let before = query.position.first.flatMap(Int64.init) ?? .max
      let found = try transaction.query(
        conflictsOnly ? VersionRow.conflictsSQL : VersionRow.historySQL,
        [.integer(zone.number), .text(name), .integer(before), .int(query.pageSize + 1)], VersionRow.version)
      if found.isEmpty, query.position.isEmpty {
        let last = try transaction.queryOne(VersionRow.lastNumberSQL, [.integer(zone.number), .text(name)]) {
          try $0.integer(0)
        }
        guard last != nil else { throw RPCError.assetNotFound(name) }
      }
      return found
    }
  }
}
