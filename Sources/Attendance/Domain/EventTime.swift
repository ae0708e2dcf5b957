import CampanileBase
import CampanileCodec
import CampanileService

/// Rules for the time of a decision that a client reports.
enum EventTime {
  /// The time for which a device may keep a decision.
  static let ageMaxMs: Int64 = 30 * 24 * 3_600 * 1_000
  /// The time by which a device's clock may be ahead.
  static let aheadMaxMs: Int64 = 5 * 60 * 1_000

  /// Returns the time in milliseconds, at most `nowMs`; nil if the request has none.
  ///
  /// - Throws: INVALID_ARGUMENT, reason `OUT_OF_RANGE`, if it is too old or in the future.
  static func milliseconds(_ time: ProtoTimestamp?, nowMs: Int64) throws(RPCError) -> Int64? {
    var violations = Violations()
    let eventMs = TimeRules.milliseconds(time, "eventTime", &violations)
    if let eventMs, !(nowMs - ageMaxMs...nowMs + aheadMaxMs).contains(eventMs) {
      violations.add("eventTime", "must be at most 30 days ago and at most 5 minutes in the future", .outOfRange)
    }
    try violations.check()
    return eventMs.map { min($0, nowMs) }
  }
}
