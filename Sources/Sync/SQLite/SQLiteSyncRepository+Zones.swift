import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteSyncRepository {
  func createZone(_ name: String, user: String, idempotency: IdempotentRequest?) async throws -> Zone {
    try await storeWrite { transaction in
      if let reply = try storedReply(Zone.self, idempotency, transaction) { return reply }
      let found = try transaction.queryOne(ZoneRow.oneSQL, [.text(user), .text(name)], ZoneRow.zone)
      guard found == nil else {
        throw RPCError(
          .alreadyExists, "zoneId: already exists", .zoneExists,
          fieldViolations: [.init(field: "zoneId", description: "already exists", reason: Reason.zoneExists.rawValue)])
      }
      var counters = try transaction.syncUser(user)
      let zone = try makeZone(name, user: user, &counters, nowMs: clockMs(), transaction)
      try transaction.put(counters, user: user)
      let message = zone.message(limits, isExporting: isExporting)
      try storeReply(message, idempotency, transaction)
      return message
    }
  }

  func zone(_ name: String, user: String) async throws -> StoredZone {
    try await readSingle { try Self.zone(name, user: user, $0) }
  }

  func zones(_ query: PositionQuery) async throws -> [Zone] {
    try await readSingle { transaction in
      try transaction.query(
        ZoneRow.listSQL, [.text(query.user), .text(query.position.first ?? ""), .int(query.pageSize + 1)]
      ) { try ZoneRow.zone($0).message(limits, isExporting: isExporting) }
    }
  }

  func updateZone(_ change: ZoneChangeDraft, user: String) async throws -> Zone {
    try await storeWrite { transaction in
      var zone = try Self.zone(change.zone, user: user, transaction)
      guard Etag.allows(change.etag, version: zone.revision) else {
        throw RPCError.etagMismatch(field: "etag", current: zone.etag)
      }
      guard isExporting || change.exportsNotifications != true else {
        throw RPCError.refused("exportsNotifications", "no notifications service is configured", .exportUnavailable)
      }
      guard let exports = change.exportsNotifications, exports != zone.exportsNotifications else {
        return zone.message(limits, isExporting: isExporting)
      }
      guard zone.name == NameRules.defaultZone else {
        throw RPCError.refused(
          "exportsNotifications", "only \(NameRules.defaultZone) can have the export", .exportUnavailable)
      }
      if zone.number == 0 {
        var counters = try transaction.syncUser(user)
        zone = try makeZone(zone.name, user: user, &counters, nowMs: clockMs(), transaction)
        try transaction.put(counters, user: user)
      }
      zone.isExportEnded = !exports
      // A revision without changes, so that the etag changes.
      zone.revision += 1
      try transaction.execute(ZoneRow.updateSQL, ZoneRow.updating(zone))
      notifier.changed(user)
      return zone.message(limits, isExporting: isExporting)
    }
  }

  func storage(user: String) async throws -> StorageUse {
    let counters = try await readSingle { try $0.syncUser(user) }
    return StorageUse(usedBytes: counters.usedBytes, limitBytes: limits.userBytesMax, limits: limits)
  }

  func deleteZone(_ name: String, isForced: Bool, etag: String, user: String) async throws {
    try await storeWrite { transaction in
      let found = try transaction.queryOne(ZoneRow.oneSQL, [.text(user), .text(name)], ZoneRow.zone)
      guard let zone = found else { throw RPCError.zoneNotFound(name) }
      guard Etag.allows(etag, version: zone.revision) else {
        throw RPCError.etagMismatch(field: "etag", current: zone.etag)
      }
      guard isForced || zone.assetCount == 0 else {
        throw RPCError.refused("zoneId", "has assets; set force to delete them too", .zoneNotEmpty)
      }
      var counters = try transaction.syncUser(user)
      counters.zoneCount -= 1
      counters.usedBytes -= zone.usedBytes
      counters.revisionFloor = max(counters.revisionFloor, zone.revision + 1)
      try transaction.put(counters, user: user)
      try transaction.execute(ZoneRow.deleteSQL, [.integer(zone.number)])
      // Its versions are deleted later, in small commits.
      try transaction.execute(ZoneRow.markDeletedSQL, [.integer(zone.number)])
      notifier.changed(user)
    }
  }

  func position(_ start: ChangesStart, zone name: String, user: String) async throws -> ZonePosition {
    var resumed: ZonePosition?
    if case .token(let token) = start { resumed = try ZonePosition(token, user: user) }
    return try await readSingle { [resumed] transaction in
      let zone = try Self.zone(name, user: user, transaction)
      if let resumed { try Self.check(resumed, epoch: epoch, zone) }
      let first = start == .oldest ? zone.compactedThrough : zone.revision
      return ZonePosition(epoch: epoch, zone: zone.number, revision: resumed?.revision ?? first)
    }
  }

  /// Throws unless the position belongs to this zone and its following revisions are stored.
  ///
  /// A different epoch means another database. A later revision means that the database was restored from a backup. A
  /// different number means that the zone was deleted in the meantime. A default zone has no number before its first
  /// commit.
  private static func check(_ position: ZonePosition, epoch: UInt64, _ zone: StoredZone) throws(RPCError) {
    let isSame = position.zone == zone.number || position.zone == 0 && zone.compactedThrough == 0
    guard position.epoch == epoch, isSame, position.revision <= zone.revision,
      position.revision >= zone.compactedThrough
    else { throw RPCError.tokenTooOld(zone: zone.name) }
  }

  func changes(
    after position: ZonePosition, zone name: String, user: String, countMax: Int, filter: ChangeFilter
  ) async throws -> ChangePage {
    try await read { transaction in
      let zone = try Self.zone(name, user: user, transaction)
      try Self.check(position, epoch: epoch, zone)
      let numbers = try transaction.query(
        VersionRow.revisionsSQL, [.integer(zone.number), .integer(position.revision), .int(max(0, countMax) + 1)]
      ) { try $0.integer(0) }
      var page = ChangePage(revision: position.revision, hasMore: numbers.count > countMax)
      guard let last = numbers.prefix(max(0, countMax)).last else { return page }
      page.revision = last
      var count = 0
      let arguments: [SQLValue] = [.integer(zone.number), .integer(position.revision), .integer(last)]
      try transaction.forEach(VersionRow.changesSQL, arguments) { row in
        let version = try VersionRow.version(row)
        guard filter.includes(version) else { return true }
        if page.changes.last?.revision != version.version { page.changes.append(ZoneChange(first: version)) }
        count += 1
        guard count <= ChangePage.assetsMax || page.changes.count == 1 else {
          // Leave the whole change to the next page.
          page.changes.removeLast()
          page.revision = version.version - 1
          page.hasMore = true
          return false
        }
        page.changes[page.changes.count - 1].assets.append(version.changed(in: name))
        return true
      }
      return page
    }
  }
}

extension ZoneChange {
  fileprivate init(first version: StoredVersion) {
    self.init()
    revision = version.version
    changeTime = .init(millisecondsSince1970: version.atMs)
    deviceId = version.deviceID
  }
}
