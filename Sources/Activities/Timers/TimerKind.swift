import CampanileStore

/// What is to happen to an activity at a time. The numbers are in the database: never reuse one.
enum TimerKind: Int64, Sendable, CaseIterable {
  /// A scheduled start is pushed.
  case start = 1
  /// A scheduled end.
  case end = 2
  /// Its 8 h are over.
  case expire = 3
  /// A timer's time is over.
  case timeOver = 4
  /// A room has waited as long as it may.
  case waitingOver = 5
}

/// A row of `timers`.
struct DueTimer: Sendable, Hashable {
  var user: String
  var activityID: String
  var kind: TimerKind
  var dueMs: Int64
}

/// The table `timers`: one timer of a kind for each activity.
enum TimerTable {
  static let setSQL = """
    INSERT INTO timers (user_id, subject_id, kind, due_ms) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id, subject_id, kind) DO UPDATE SET due_ms = excluded.due_ms
    """
  static let clearSQL = "DELETE FROM timers WHERE user_id = $1 AND subject_id = $2 AND kind = $3"
  static let clearAllSQL = "DELETE FROM timers WHERE user_id = $1 AND subject_id = $2"
  static let takeSQL = "DELETE FROM timers WHERE user_id = $1 AND subject_id = $2 AND kind = $3 AND due_ms = $4"
  static let dueSQL = """
    SELECT user_id, subject_id, kind, due_ms FROM timers WHERE due_ms <= $1 ORDER BY due_ms, subject_id LIMIT $2
    """
  static let nextSQL = "SELECT min(due_ms) FROM timers"

  static func due(_ row: borrowing SQLRow) throws -> DueTimer? {
    // A kind of a newer program is left where it is.
    guard let kind = TimerKind(rawValue: try row.integer(2)) else { return nil }
    return DueTimer(user: try row.text(0), activityID: try row.text(1), kind: kind, dueMs: try row.integer(3))
  }
}
