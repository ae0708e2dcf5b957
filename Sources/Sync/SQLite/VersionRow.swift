import CampanileAPI
import CampanileCodec
import CampanileCrypto
import CampanileService
import CampanileStore
import SyncContents

/// A version of an asset as stored.
struct StoredVersion: Sendable, Hashable {
  var name: String
  var version: Int64
  var number: Int64
  var recordType: String
  var syncTimeMs: Int64
  var recordCount: Int64
  var sizeBytes: Int64
  /// Nil for a deletion.
  var digest: SHA256Digest?
  var deviceID: String
  var atMs: Int64
  var isDeleted: Bool
  var isConflict: Bool
  /// Nil for the current version.
  var replacedAtMs: Int64?

  var etag: String { Etag.text(version: version) }

  /// Returns a version that is not a deletion.
  func asset(in zone: String) -> Asset {
    Asset(
      zoneId: zone, name: name, recordType: recordType, syncTime: ProtoTimestamp(millisecondsSince1970: syncTimeMs),
      recordCount: recordCount, sizeBytes: sizeBytes, sha256: digest?.hexadecimal ?? "", version: version, etag: etag,
      updateTime: ProtoTimestamp(millisecondsSince1970: atMs), deviceId: deviceID)
  }

  /// Returns a deletion.
  func deletion(in zone: String) -> AssetDeleted {
    AssetDeleted(
      zoneId: zone, name: name, version: version, deleteTime: ProtoTimestamp(millisecondsSince1970: atMs),
      deviceId: deviceID, recordType: recordType)
  }

  func entry(in zone: String) -> AssetVersion {
    AssetVersion(
      state: isDeleted ? .assetDeleted(deletion(in: zone)) : .asset(asset(in: zone)), conflict: isConflict,
      current: replacedAtMs == nil)
  }

  func changed(in zone: String) -> ChangedAsset {
    ChangedAsset(change: isDeleted ? .assetDeleted(deletion(in: zone)) : .asset(asset(in: zone)))
  }

  func outcome(in zone: String) -> AssetChangeResult.Outcome {
    isDeleted ? .assetDeleted(deletion(in: zone)) : .asset(asset(in: zone))
  }
}

/// Statements of `versions` and `assets`, and the mapping of their rows.
enum VersionRow {
  static let columns = """
    name, version, number, record_type, sync_timestamp_ms, record_count, size_bytes, sha256, device_id, at_ms,
    is_deleted, is_conflict, replaced_at_ms
    """
  private static let joined = """
    v.name, v.version, v.number, v.record_type, v.sync_timestamp_ms, v.record_count, v.size_bytes, v.sha256, v.device_id,
    v.at_ms, v.is_deleted, v.is_conflict, v.replaced_at_ms
    """
  static let insertSQL = """
    INSERT INTO versions (\(columns), zone_no) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
    """
  static let oneSQL = "SELECT \(columns) FROM versions WHERE zone_no = $1 AND name = $2 AND version = $3"
  static let currentSQL = """
    SELECT \(joined) FROM assets AS a
    JOIN versions AS v ON v.zone_no = a.zone_no AND v.name = a.name AND v.version = a.version
    WHERE a.zone_no = $1 AND a.name = $2
    """
  /// Selects the current versions after a name.
  static let listSQL = """
    SELECT \(joined) FROM assets AS a
    JOIN versions AS v ON v.zone_no = a.zone_no AND v.name = a.name AND v.version = a.version
    WHERE a.zone_no = $1 AND a.name > $2 ORDER BY a.name LIMIT $3
    """
  static let historySQL = """
    SELECT \(columns) FROM versions WHERE zone_no = $1 AND name = $2 AND version < $3 ORDER BY version DESC LIMIT $4
    """
  static let conflictsSQL = """
    SELECT \(columns) FROM versions WHERE zone_no = $1 AND name = $2 AND version < $3 AND is_conflict = 1
    ORDER BY version DESC LIMIT $4
    """
  static let changesSQL = """
    SELECT \(columns) FROM versions WHERE zone_no = $1 AND version > $2 AND version <= $3 ORDER BY version, name
    """
  /// Selects the next revisions.
  static let revisionsSQL = """
    SELECT DISTINCT version FROM versions WHERE zone_no = $1 AND version > $2 ORDER BY version LIMIT $3
    """
  static let ofContentSQL = """
    SELECT \(columns) FROM versions WHERE zone_no = $1 AND sha256 = $2 LIMIT 64
    """
  static let lastNumberSQL = """
    SELECT number FROM versions WHERE zone_no = $1 AND name = $2 ORDER BY number DESC LIMIT 1
    """
  static let replaceSQL = """
    UPDATE versions SET replaced_at_ms = $4, is_conflict = $5 WHERE zone_no = $1 AND name = $2 AND version = $3
    """
  static let resolveSQL = """
    UPDATE versions SET is_conflict = 0 WHERE zone_no = $1 AND name = $2 AND version = $3 AND is_conflict = 1
    """
  static let deleteSQL = "DELETE FROM versions WHERE zone_no = $1 AND name = $2 AND version = $3"
  /// Selects versions with at least a number of successors.
  static let surplusSQL = """
    SELECT \(columns) FROM versions
    WHERE zone_no = $1 AND name = $2 AND number <= $3 AND is_conflict = 0 AND replaced_at_ms IS NOT NULL
    ORDER BY number LIMIT 8
    """
  /// Selects versions that may be deleted to free space, those replaced first at the front.
  static let evictableSQL = """
    SELECT \(columns) FROM versions
    WHERE zone_no = $1 AND replaced_at_ms IS NOT NULL AND is_conflict = 0 ORDER BY replaced_at_ms LIMIT $2
    """
  static let oldSQL = """
    SELECT \(columns), zone_no FROM versions WHERE replaced_at_ms IS NOT NULL AND replaced_at_ms < $1
    ORDER BY replaced_at_ms LIMIT $2
    """
  static let ofZoneSQL = "SELECT \(columns) FROM versions WHERE zone_no = $1 LIMIT $2"

  static let existsSQL = "SELECT 1 FROM assets WHERE zone_no = $1 AND name = $2"
  static let setCurrentSQL = """
    INSERT INTO assets (zone_no, name, version) VALUES ($1, $2, $3)
    ON CONFLICT (zone_no, name) DO UPDATE SET version = excluded.version
    """
  static let dropCurrentSQL = "DELETE FROM assets WHERE zone_no = $1 AND name = $2"
  static let dropAllCurrentSQL = """
    DELETE FROM assets WHERE zone_no = $1 AND name IN (SELECT name FROM assets WHERE zone_no = $1 LIMIT $2)
    """

  static func version(_ row: borrowing SQLRow) throws -> StoredVersion {
    let digest = row.isNull(7) ? nil : try row.digest(7)
    return StoredVersion(
      name: try row.text(0), version: try row.integer(1), number: try row.integer(2), recordType: try row.text(3),
      syncTimeMs: try row.integer(4), recordCount: try row.integer(5), sizeBytes: try row.integer(6),
      digest: digest, deviceID: try row.text(8), atMs: try row.integer(9), isDeleted: try row.bool(10),
      isConflict: try row.bool(11), replacedAtMs: try row.integerIfPresent(12))
  }

  static func inserting(_ version: StoredVersion, zone: Int64) -> [SQLValue] {
    [
      .text(version.name), .integer(version.version), .integer(version.number), .text(version.recordType),
      .integer(version.syncTimeMs), .integer(version.recordCount), .integer(version.sizeBytes),
      .blob(version.digest?.bytes), .text(version.deviceID), .integer(version.atMs), .bool(version.isDeleted),
      .bool(version.isConflict), .integer(version.replacedAtMs), .integer(zone),
    ]
  }
}

extension ReadTransaction {
  /// Returns the name of an asset that a request may name by its record name. An asset that has such a name itself
  /// keeps it.
  func assetName(_ name: String, in zone: StoredZone) throws -> String {
    guard let fileName = ExportedFiles.fileName(name, in: zone.name) else { return name }
    let isTaken = try queryOne(VersionRow.existsSQL, [.integer(zone.number), .text(name)]) { try $0.integer(0) } != nil
    return isTaken ? name : fileName
  }
}
