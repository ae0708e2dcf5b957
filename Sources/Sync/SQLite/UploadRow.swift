import CampanileAPI
import CampanileCodec
import CampanileCrypto
import CampanileService
import CampanileStore
import SyncContents

/// An upload as stored.
struct StoredUpload: Sendable, Hashable {
  var id: String
  var zone: String
  var recordType: String
  var sizeBytes: Int64
  /// The declared digest.
  var digest: SHA256Digest
  var isStrict: Bool
  var expiresAtMs: Int64
  /// Nil until the upload is complete.
  var summary: ContentSummary?
  /// Counts the processes that have taken the upload. Only the last one may write it.
  var epoch: Int64 = 0

  /// Returns the upload with its received bytes and their hash in hexadecimal digits.
  func message(receivedBytes: Int64, hash: String) -> Upload {
    Upload(
      id: id, zoneId: zone, recordType: recordType, sizeBytes: sizeBytes, receivedBytes: receivedBytes,
      receivedSha256: hash, complete: summary != nil, expireTime: ProtoTimestamp(millisecondsSince1970: expiresAtMs))
  }
}

/// Statements of `uploads` and the mapping of its rows.
enum UploadRow {
  static let columns = "id, zone, record_type, size_bytes, sha256, is_strict, expires_at_ms, facts_json, writer_epoch"
  static let oneSQL = "SELECT \(columns) FROM uploads WHERE user_id = $1 AND id = $2"
  static let insertSQL = """
    INSERT INTO uploads (\(columns), user_id) VALUES ($1, $2, $3, $4, $5, $6, $7, NULL, 0, $8)
    """
  static let completeSQL = """
    UPDATE uploads SET facts_json = $3, expires_at_ms = $4
    WHERE user_id = $1 AND id = $2 AND facts_json IS NULL AND writer_epoch = $5
    """
  static let takeSQL = "UPDATE uploads SET writer_epoch = writer_epoch + 1 WHERE user_id = $1 AND id = $2"
  static let touchSQL = "UPDATE uploads SET expires_at_ms = $3 WHERE user_id = $1 AND id = $2"
  static let deleteSQL = "DELETE FROM uploads WHERE user_id = $1 AND id = $2"
  static let expiredSQL = """
    SELECT \(columns), user_id FROM uploads WHERE expires_at_ms < $1 ORDER BY expires_at_ms LIMIT $2
    """

  static func upload(_ row: borrowing SQLRow) throws -> StoredUpload {
    let digest = try row.digest(4)
    var upload = StoredUpload(
      id: try row.text(0), zone: try row.text(1), recordType: try row.text(2), sizeBytes: try row.integer(3),
      digest: digest, isStrict: try row.bool(5), expiresAtMs: try row.integer(6), epoch: try row.integer(8))
    if !row.isNull(7) {
      upload.summary = summary(
        try StoredJSON.message(PutAssetResponse.self, row, 7, "facts_json"), digest, sizeBytes: upload.sizeBytes)
    }
    return upload
  }

  static func inserting(_ upload: StoredUpload, user: String) -> [SQLValue] {
    [
      .text(upload.id), .text(upload.zone), .text(upload.recordType), .integer(upload.sizeBytes),
      .blob(upload.digest.bytes), .bool(upload.isStrict), .integer(upload.expiresAtMs), .text(user),
    ]
  }

  /// Encodes the findings about a content as the response to a put.
  static func json(_ summary: ContentSummary) -> String {
    let asset = Asset(
      syncTime: summary.syncTimestampMs.map { ProtoTimestamp(millisecondsSince1970: $0) },
      recordCount: summary.recordCount ?? -1)
    let kept = PutAssetResponse(asset: asset, duplicateNames: summary.duplicateNames)
    return kept.jsonString()
  }

  private static func summary(_ kept: PutAssetResponse, _ digest: SHA256Digest, sizeBytes: Int64) -> ContentSummary {
    let count = kept.asset?.recordCount ?? -1
    return ContentSummary(
      digest: digest, sizeBytes: sizeBytes, recordCount: count < 0 ? nil : count,
      syncTimestampMs: kept.asset?.syncTime?.millisecondsSince1970, duplicateNames: kept.duplicateNames)
  }
}
