import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileService
import CampanileStore

/// A row of `push_tokens`.
struct TokenRow: Sendable, Hashable {
  var id: String
  var user: String
  var kind: TokenKind
  var app: String
  var environment: String
  var installationID: String
  var subject: String
  var generation: Int64
  var token: [UInt8]
  var timeMs: Int64
  var registeredMs: Int64
  var usedMs: Int64
  var state: TokenState
  var retiredMs: Int64?
  var retireReason: String?
  /// The same for all tokens of an installation.
  var values = InstallationValues()

  static let columns = """
    token_id, user_id, kind, app, environment, installation_id, subject, generation, token, token_time_ms,
    registered_at_ms, used_at_ms, state, retired_at_ms, retire_reason, os_version, frequent_pushes
    """
  static let oneSQL = "SELECT \(columns) FROM push_tokens WHERE token_id = $1"
  /// Columns for delivery. A channel (kind 4) has no device token.
  static let deliverySQL =
    "SELECT state, token, registered_at_ms, frequent_pushes FROM push_tokens WHERE token_id = $1 AND kind <> 4"
  static let placeSQL = """
    SELECT \(columns) FROM push_tokens
    WHERE user_id = $1 AND kind = $2 AND app = $3 AND subject = $4 AND installation_id = $5 AND generation = $6
    """
  static let valueSQL = "SELECT \(columns) FROM push_tokens WHERE token = $1 AND app = $2 AND state = 1"
  static let liveOfAppSQL = """
    SELECT \(columns) FROM push_tokens WHERE user_id = $1 AND kind = $2 AND app = $3 AND state = 1 ORDER BY token_id
    """
  static let liveSQL = """
    SELECT \(columns) FROM push_tokens WHERE user_id = $1 AND kind = $2 AND state = 1 ORDER BY token_id
    """
  static let liveOfActivitySQL = """
    SELECT \(columns) FROM push_tokens WHERE user_id = $1 AND kind = 2 AND app = $2 AND subject = $3 AND state = 1
    """
  static let insertSQL = """
    INSERT INTO push_tokens (\(columns))
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
    """
  static let updateSQL = """
    UPDATE push_tokens SET environment = $2, token = $3, token_time_ms = $4, registered_at_ms = $5, used_at_ms = $6,
      state = $7, retired_at_ms = $8, retire_reason = $9
    WHERE token_id = $1
    """
  static let valuesSQL = """
    SELECT os_version, frequent_pushes FROM push_tokens WHERE user_id = $1 AND app = $2 AND installation_id = $3 LIMIT 1
    """
  static let setValuesSQL = """
    UPDATE push_tokens SET os_version = coalesce($4, os_version), frequent_pushes = coalesce($5, frequent_pushes)
    WHERE user_id = $1 AND app = $2 AND installation_id = $3
    """
  static let liveCountSQL = """
    SELECT count(*) FROM push_tokens WHERE user_id = $1 AND app = $2 AND installation_id = $3 AND state = 1
    """
  static let deleteSQL = "DELETE FROM push_tokens WHERE token_id = $1"
  static let useSQL = "UPDATE push_tokens SET used_at_ms = $2 WHERE token_id = $1"
  static let retireSQL = """
    UPDATE push_tokens SET state = $2, retired_at_ms = $3, retire_reason = $4 WHERE token_id = $1 AND state < $2
    """

  static func row(_ row: borrowing SQLRow) throws -> TokenRow {
    guard let kind = TokenKind(rawValue: try row.integer(2)), let state = TokenState(rawValue: try row.integer(12))
    else { throw StoreError(.corrupt, "a token has an unknown kind or state") }
    return TokenRow(
      id: try row.text(0), user: try row.text(1), kind: kind, app: try row.text(3), environment: try row.text(4),
      installationID: try row.text(5), subject: try row.text(6), generation: try row.integer(7),
      token: try row.bytes(8), timeMs: try row.integer(9), registeredMs: try row.integer(10),
      usedMs: try row.integer(11), state: state, retiredMs: try row.integerIfPresent(13),
      retireReason: try row.textIfPresent(14), values: try values(row, 15))
  }

  /// Reads the columns `os_version` and `frequent_pushes` from `column` on.
  static func values(_ row: borrowing SQLRow, _ column: Int) throws -> InstallationValues {
    InstallationValues(
      osVersion: try row.integerIfPresent(column).map { OSVersion(number: $0) },
      hasFrequentPushes: row.isNull(column + 1) ? nil : try row.bool(column + 1))
  }

  func insert(_ transaction: WriteTransaction) throws {
    try transaction.execute(
      Self.insertSQL,
      [
        .text(id), .text(user), .integer(kind.rawValue), .text(app), .text(environment), .text(installationID),
        .text(subject), .integer(generation), .blob(token), .integer(timeMs), .integer(registeredMs),
        .integer(usedMs), .integer(state.rawValue), .integer(retiredMs), .text(retireReason),
        .integer(values.osVersion?.number), values.hasFrequentPushes.map { .bool($0) } ?? .null,
      ])
  }

  func update(_ transaction: WriteTransaction) throws {
    try transaction.execute(
      Self.updateSQL,
      [
        .text(id), .text(environment), .blob(token), .integer(timeMs), .integer(registeredMs), .integer(usedMs),
        .integer(state.rawValue), .integer(retiredMs), .text(retireReason),
      ])
  }

  /// The device token; nil for a channel.
  var deviceToken: DeviceToken? { kind == .channel ? nil : DeviceToken(Hexadecimal.text(token)) }

  /// The token as an API message, redacted.
  var message: PushToken {
    var message = PushToken(
      id: id, kind: PushTokenKind(rawValue: Int32(truncatingIfNeeded: kind.rawValue)), app: app,
      environment: environment, installationId: installationID)
    if kind == .update { message.activityId = subject }
    if kind == .pushToStart { message.attributesType = subject }
    if kind == .control { message.controlId = subject }
    message.redactedToken = deviceToken?.redacted ?? "\(String(decoding: token.prefix(4), as: UTF8.self))…"
    message.sizeBytes = Int32(clamping: token.count)
    message.tokenTime = ProtoTimestamp(millisecondsSince1970: timeMs)
    message.registerTime = ProtoTimestamp(millisecondsSince1970: registeredMs)
    message.useTime = ProtoTimestamp(millisecondsSince1970: usedMs)
    message.retireTime = retiredMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
    message.retireReason = retireReason ?? ""
    message.osVersion = values.osVersion.map { OsVersion(major: $0.major, minor: $0.minor, patch: $0.patch) }
    message.frequentPushesEnabled = values.hasFrequentPushes
    return message
  }
}
