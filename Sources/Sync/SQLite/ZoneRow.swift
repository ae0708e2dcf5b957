import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// A zone as stored.
struct StoredZone: Sendable, Hashable {
  var name: String
  var number: Int64
  var revision: Int64 = 0
  var assetCount: Int64 = 0
  var usedBytes: Int64 = 0
  var compactedThrough: Int64 = 0
  var createdAtMs: Int64
  var updatedAtMs: Int64
  /// Whether a device writes the files of the export, or the user has ended it.
  var isExportEnded = false

  /// Whether the service writes the user's notifications to the zone, if there is a notifications service.
  var exportsNotifications: Bool { name == NameRules.defaultZone && !isExportEnded }

  var etag: String { Etag.text(version: revision) }

  /// - Parameter isExporting: Whether there is a notifications service.
  func message(_ limits: SyncLimits, isExporting: Bool) -> Zone {
    .with {
      $0.id = name
      $0.revision = revision
      $0.etag = etag
      $0.exportsNotifications = isExporting && exportsNotifications
      $0.assetCount = Int32(clamping: assetCount)
      $0.storage = StorageUse(usedBytes: usedBytes, limitBytes: limits.zoneBytesMax, limits: limits)
      if createdAtMs > 0 { $0.createTime = ProtoTimestamp(millisecondsSince1970: createdAtMs) }
      if updatedAtMs > 0 { $0.updateTime = ProtoTimestamp(millisecondsSince1970: updatedAtMs) }
    }
  }
}

/// Statements of `zones` and the mapping of its rows.
enum ZoneRow {
  static let columns = """
    name, zone_no, revision, asset_count, used_bytes, compacted_through, created_at_ms, updated_at_ms, is_export_ended
    """
  static let oneSQL = "SELECT \(columns) FROM zones WHERE user_id = $1 AND name = $2"
  static let listSQL = "SELECT \(columns) FROM zones WHERE user_id = $1 AND name > $2 ORDER BY name LIMIT $3"
  static let insertSQL = """
    INSERT INTO zones (\(columns), user_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    """
  static let updateSQL = """
    UPDATE zones SET revision = $2, asset_count = $3, used_bytes = $4, compacted_through = $5, updated_at_ms = $6,
      is_export_ended = $7
    WHERE zone_no = $1
    """
  static let deleteSQL = "DELETE FROM zones WHERE zone_no = $1"
  static let markDeletedSQL = "INSERT INTO deleted_zones (zone_no) VALUES ($1)"

  static func zone(_ row: borrowing SQLRow) throws -> StoredZone {
    StoredZone(
      name: try row.text(0), number: try row.integer(1), revision: try row.integer(2), assetCount: try row.integer(3),
      usedBytes: try row.integer(4), compactedThrough: try row.integer(5), createdAtMs: try row.integer(6),
      updatedAtMs: try row.integer(7), isExportEnded: try row.bool(8))
  }

  static func updating(_ zone: StoredZone) -> [SQLValue] {
    [
      .integer(zone.number), .integer(zone.revision), .integer(zone.assetCount), .integer(zone.usedBytes),
      .integer(zone.compactedThrough), .integer(zone.updatedAtMs), .bool(zone.isExportEnded),
    ]
  }

  static func inserting(_ zone: StoredZone, user: String) -> [SQLValue] {
    [
      .text(zone.name), .integer(zone.number), .integer(zone.revision), .integer(zone.assetCount),
      .integer(zone.usedBytes), .integer(zone.compactedThrough), .integer(zone.createdAtMs),
      .integer(zone.updatedAtMs), .bool(zone.isExportEnded), .text(user),
    ]
  }
}

/// The counters of a user.
struct StoredUser: Sendable, Hashable {
  var zoneCount: Int64 = 0
  var deviceCount: Int64 = 0
  var uploadCount: Int64 = 0
  var usedBytes: Int64 = 0
  var revisionFloor: Int64 = 0
  var messageSequence: Int64 = 0
  var droppedThrough: Int64 = 0
}

/// Statements of `users`.
enum UserRow {
  static let oneSQL = """
    SELECT zone_count, device_count, upload_count, used_bytes, revision_floor, message_sequence, dropped_through
    FROM users WHERE user_id = $1
    """
  static let putSQL = """
    INSERT INTO users (user_id, zone_count, device_count, upload_count, used_bytes, revision_floor, message_sequence,
      dropped_through)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (user_id) DO UPDATE SET zone_count = excluded.zone_count, device_count = excluded.device_count,
      upload_count = excluded.upload_count, used_bytes = excluded.used_bytes, revision_floor = excluded.revision_floor,
      message_sequence = excluded.message_sequence, dropped_through = excluded.dropped_through
    """
}

extension ReadTransaction {
  func syncUser(_ user: String) throws -> StoredUser {
    try queryOne(UserRow.oneSQL, [.text(user)]) { row in
      StoredUser(
        zoneCount: try row.integer(0), deviceCount: try row.integer(1), uploadCount: try row.integer(2),
        usedBytes: try row.integer(3), revisionFloor: try row.integer(4), messageSequence: try row.integer(5),
        droppedThrough: try row.integer(6))
    } ?? StoredUser()
  }
}

extension WriteTransaction {
  func put(_ counters: StoredUser, user: String) throws {
    try execute(
      UserRow.putSQL,
      [
        .text(user), .integer(counters.zoneCount), .integer(counters.deviceCount), .integer(counters.uploadCount),
        .integer(counters.usedBytes), .integer(counters.revisionFloor), .integer(counters.messageSequence),
        .integer(counters.droppedThrough),
      ])
  }

  /// Adds to a database-wide counter.
  func add(_ amount: Int64, to counter: String) throws {
    try execute(
      "UPDATE counters SET value = value + $1 WHERE name = $2", [.integer(amount), .text(counter)],
      orThrow: StoreError(.corrupt, "the counter \(counter) is missing"))
  }

  /// Increments a database-wide counter and returns its value.
  ///
  /// Two statements, which go to a server together: for one with RETURNING, SQLite creates a temporary table.
  func next(_ counter: String) throws -> Int64 {
    try add(1, to: counter)
    let value = try queryOne("SELECT value FROM counters WHERE name = $1", [.text(counter)]) { try $0.integer(0) }
    guard let value else { throw StoreError(.corrupt, "the counter \(counter) is missing") }
    return value
  }
}
