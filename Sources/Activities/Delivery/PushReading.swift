import APNs
import CampanileAPI
import CampanileCodec
import CampanileStore

/// Queries for the state of pushes, for the operator.
enum PushReading {
  private static let deliveryLogColumns = """
    l.apns_id, l.outcome, l.kind, r.app, r.environment, l.user_id, l.activity_id, l.push_type, l.priority, l.attempts,
    l.status, l.reason, l.queued_at_ms, l.settled_at_ms, l.latency_ms, l.trace_parent, NULL, l.target_id
    """
  static let deliveryLogOneSQL = """
    SELECT \(deliveryLogColumns) FROM push_ledger l JOIN push_routes r ON r.id = l.route_id WHERE l.apns_id = $1
    """
  /// Lists of the delivery log before `$1` and not before `$2`, newest first. Each has an index for its condition.
  static let deliveryLogSQL = deliveryLog(where: "")
  static let deliveryLogOfUserSQL = deliveryLog(where: "l.user_id = $4 AND ")
  static let deliveryLogOfActivitySQL = deliveryLog(where: "l.activity_id = $4 AND ")
  /// The second condition states what the index is limited to.
  static let deliveryLogOfReasonSQL = deliveryLog(where: "l.reason = $4 AND l.reason <> '' AND ")
  static let deliveryLogOfFailureSQL = deliveryLog(where: "l.outcome = $4 AND l.outcome <> 1 AND ")

  private static func deliveryLog(where condition: String) -> String {
    """
    SELECT \(deliveryLogColumns) FROM push_ledger l JOIN push_routes r ON r.id = l.route_id
    WHERE \(condition)l.apns_id < $1 AND l.apns_id >= $2 ORDER BY l.apns_id DESC LIMIT $3
    """
  }

  static let waitingPayloadSQL = "SELECT payload FROM pushes WHERE apns_id = $1"
  static let deadPayloadSQL = "SELECT payload FROM dead_letters WHERE apns_id = $1"

  /// Dead letters have the attempts and the latency of the delivery log while it contains them.
  private static let dead = """
    SELECT d.apns_id, 3, d.kind, r.app, r.environment, d.user_id, d.activity_id, d.push_type, d.priority,
      coalesce(l.attempts, d.attempts), d.status, d.reason, d.queued_at_ms, d.failed_at_ms, l.latency_ms, d.trace_parent,
      NULL, CASE d.target_kind WHEN 1 THEN d.target_id END
    FROM dead_letters d JOIN push_routes r ON r.id = d.route_id LEFT JOIN push_ledger l ON l.apns_id = d.apns_id
    """
  static let deadSQL = "\(dead) WHERE d.apns_id > $1 ORDER BY d.apns_id LIMIT $2"
  static let deadOneSQL = "\(dead) WHERE d.apns_id = $1"
  static let waitingSQL = """
    SELECT p.apns_id, CASE p.state WHEN 1 THEN 8 ELSE 7 END, p.kind, r.app, r.environment, p.user_id, p.activity_id,
      p.push_type, p.priority, p.attempts, 0, p.last_reason, p.queued_at_ms, NULL, NULL, p.trace_parent, p.due_ms,
      CASE p.target_kind WHEN 1 THEN p.target_id END
    FROM pushes p JOIN push_routes r ON r.id = p.route_id WHERE p.apns_id = $1
    """

  /// A text that sorts after every id.
  static let beyondAllIDs = "~"

  static func push(_ row: borrowing SQLRow) throws -> Push {
    var push = Push(
      apnsId: try row.text(0), status: PushStatus(rawValue: Int32(truncatingIfNeeded: try row.integer(1))),
      action: PushAction(rawValue: Int32(truncatingIfNeeded: try row.integer(2))), app: try row.text(3),
      environment: try row.text(4), userId: try row.text(5), activityId: try row.textIfPresent(6) ?? "",
      pushType: pushType(try row.text(7)), urgency: PushPriority(rawValue: try row.integer(8))?.urgency ?? .unspecified,
      attemptCount: Int32(clamping: try row.integer(9)), httpStatus: Int32(clamping: try row.integer(10)),
      reason: try row.textIfPresent(11) ?? "", queueTime: ProtoTimestamp(millisecondsSince1970: try row.integer(12)),
      settleTime: try row.integerIfPresent(13).map { ProtoTimestamp(millisecondsSince1970: $0) },
      traceId: traceID(try row.textIfPresent(15)))
    // Without a response there is no status either.
    if push.httpStatus > 0 {
      push.latency = try row.integerIfPresent(14).map { ProtoDuration(milliseconds: $0) }
    }
    push.dueTime = try row.integerIfPresent(16).map { ProtoTimestamp(millisecondsSince1970: $0) }
    push.tokenId = try row.textIfPresent(17) ?? ""
    return push
  }

  private static func pushType(_ name: String) -> ApnsPushType {
    switch PushType(rawValue: name) {
    case .alert?: .alert
    case .background?: .background
    case .liveactivity?: .liveActivity
    case .widgets?: .widgets
    case .controls?: .controls
    default: .unspecified
    }
  }

  /// Returns the trace id of a W3C `traceparent`: `00-<32 digits>-<16 digits>-<flags>`.
  static func traceID(_ traceParent: String?) -> String {
    guard let parts = traceParent?.split(separator: "-"), parts.count >= 2, parts[1].utf8.count == 32 else { return "" }
    return String(parts[1])
  }
}
