import CampanileAPI
import CampanileCodec
import CampanileStore

/// Results of the pushes that Notifications requested, stored until they are reported: the table `alert_reports`.
///
/// A row is inserted with each push and completed when the push ends. Rows expire by age, so that delivery continues
/// while the receiver is unavailable.
enum AlertReports {
  static let migration = Migration(
    "0101-alert-reports",
    """
    CREATE TABLE alert_reports (
      apns_id TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, notification_id TEXT NOT NULL, token_id TEXT NOT NULL,
      queued_at_ms BIGINT NOT NULL, settled_at_ms BIGINT, outcome BIGINT, reason TEXT);
    CREATE INDEX alert_reports_settled ON alert_reports (settled_at_ms, apns_id) WHERE settled_at_ms IS NOT NULL;
    CREATE INDEX alert_reports_queued ON alert_reports (queued_at_ms);
    """)

  static let insertSQL = """
    INSERT INTO alert_reports (apns_id, user_id, notification_id, token_id, queued_at_ms) VALUES ($1, $2, $3, $4, $5)
    """
  static let settleSQL = """
    UPDATE alert_reports SET settled_at_ms = $1, outcome = $2, reason = $3 WHERE apns_id = $4
    """
  static let settledSQL = """
    SELECT apns_id, user_id, notification_id, token_id, settled_at_ms, outcome, reason FROM alert_reports
    WHERE settled_at_ms IS NOT NULL ORDER BY settled_at_ms, apns_id LIMIT $1
    """
  static let deleteSQL = "DELETE FROM alert_reports WHERE apns_id = $1 AND settled_at_ms = $2"
  static let expiredSQL = """
    DELETE FROM alert_reports WHERE apns_id IN (
      SELECT apns_id FROM alert_reports WHERE queued_at_ms < $1 ORDER BY queued_at_ms LIMIT $2)
    """

  /// A report and the key of its row.
  struct Entry: Sendable {
    var apnsID: String
    var settledAtMs: Int64
    var delivery: NotificationDelivery
  }

  static func entry(_ row: borrowing SQLRow) throws -> Entry {
    let settledAtMs = try row.integer(4)
    let record = try DeliveryRecord(
      eventTime: ProtoTimestamp(millisecondsSince1970: settledAtMs), deviceId: row.text(3),
      outcome: outcome(DeliveryLogOutcome(rawValue: row.integer(5))), reason: row.textIfPresent(6) ?? "",
      pushId: row.text(0))
    let delivery = NotificationDelivery(userId: try row.text(1), notificationId: try row.text(2), record: record)
    return Entry(apnsID: record.pushId, settledAtMs: settledAtMs, delivery: delivery)
  }

  private static func outcome(_ outcome: DeliveryLogOutcome?) -> DeliveryOutcome {
    switch outcome {
    case .accepted: .pushed
    case .expired: .expired
    case .withoutToken: .noToken
    case .superseded: .obsolete
    case .rejected, .deadLetter, nil: .rejected
    }
  }
}

/// Records the results of pushes that have a row.
struct AlertReportListener: PushListener {
  func ended(
    _ push: ClaimedPush, _ outcome: DeliveryLogOutcome, reason: String, atMs: Int64, in transaction: WriteTransaction
  ) throws {
    guard push.order.kind == .alert || push.order.kind == .background else { return }
    try transaction.execute(
      AlertReports.settleSQL,
      [.integer(atMs), .integer(outcome.rawValue), .text(String(reason.prefix(200))), .text(push.apnsID)])
  }
}
