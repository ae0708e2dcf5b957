import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// Statements of `devices` and the mapping of its rows.
enum DeviceRow {
  static let columns = """
    device_id, role, display_name, created_at_ms, acknowledged, wakes_for_updates, app, installation_id, woken_at_ms
    """
  static let roleSQL = "SELECT role FROM devices WHERE user_id = $1 AND device_id = $2"
  static let oneSQL = "SELECT \(columns) FROM devices WHERE user_id = $1 AND device_id = $2"
  /// Selects the devices after an id.
  static let listSQL = """
    SELECT \(columns) FROM devices WHERE user_id = $1 AND device_id > $2 ORDER BY device_id LIMIT $3
    """
  static let insertSQL = "INSERT INTO devices (\(columns), user_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
  static let renameSQL = "UPDATE devices SET display_name = $3 WHERE user_id = $1 AND device_id = $2"
  static let subscribeSQL = """
    UPDATE devices SET wakes_for_updates = $3, app = $4, installation_id = $5 WHERE user_id = $1 AND device_id = $2
    """
  static let acknowledgeSQL = """
    UPDATE devices SET acknowledged = $3 WHERE user_id = $1 AND device_id = $2 AND acknowledged < $3
    """
  static let deleteSQL = "DELETE FROM devices WHERE user_id = $1 AND device_id = $2"

  /// Returns a device without its subscriptions.
  static func device(_ row: borrowing SQLRow) throws -> SyncDevice {
    SyncDevice(
      id: try row.text(0), role: .init(rawValue: Int32(truncatingIfNeeded: try row.integer(1))),
      displayName: try row.text(2), createTime: ProtoTimestamp(millisecondsSince1970: try row.integer(3)),
      acknowledgedSequence: try row.integer(4), wakesForUpdates: try row.bool(5), app: try row.text(6),
      installationId: try row.text(7),
      wakeTime: try row.integerIfPresent(8).map { ProtoTimestamp(millisecondsSince1970: $0) })
  }
}

/// Statements of `messages`.
enum MessageRow {
  static let insertSQL = """
    INSERT INTO messages (user_id, sequence, device_id, mutation_id, payload, at_ms) VALUES ($1, $2, $3, $4, $5, $6)
    """
  /// Selects the message that a device published with a request id.
  static let ofRequestSQL = """
    SELECT sequence, payload FROM messages WHERE user_id = $1 AND device_id = $2 AND mutation_id = $3
    """
  static let afterSQL = """
    SELECT sequence, device_id, payload, at_ms FROM messages
    WHERE user_id = $1 AND sequence > $2 ORDER BY sequence
    """
  /// Selects the newest surplus message, where $2 is the maximum number.
  static let surplusSQL = """
    SELECT sequence FROM messages WHERE user_id = $1 ORDER BY sequence DESC LIMIT 1 OFFSET $2
    """
  /// Selects the messages that devices have published since a time.
  static let publishedSQL = """
    SELECT payload FROM messages WHERE user_id = $1 AND at_ms >= $2 AND device_id <> ''
    """
  /// Deletes the service's message with a request id.
  static let dropRequestSQL = "DELETE FROM messages WHERE user_id = $1 AND device_id = '' AND mutation_id = $2"
  static let dropOfServiceSQL = "DELETE FROM messages WHERE user_id = $1 AND device_id = ''"
  static let dropSQL = "DELETE FROM messages WHERE user_id = $1 AND sequence <= $2"
  static let oldSQL = "SELECT user_id, sequence FROM messages WHERE at_ms < $1 ORDER BY at_ms LIMIT $2"
}
