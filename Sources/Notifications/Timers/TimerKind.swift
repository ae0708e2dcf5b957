import CampanileStore

/// What is to happen at a time. The numbers are in the database: never reuse one.
enum TimerKind: Int64, Sendable, CaseIterable {
  /// A scheduled notification is published.
  case deliver = 1
  /// A notification that quiet hours or a snoozed bucket hold is handed to the devices.
  case release = 2
  /// An unread notification is handed to the devices again.
  case `repeat` = 3
  /// A notification is deleted.
  case expire = 4
  /// A heartbeat is missing.
  case heartbeat = 5
  /// The share of a bucket ends.
  case shareEnd = 6
  /// The deletion of a bucket, or the end of a share, goes on where it was cut short.
  case emptyBucket = 7
  /// An action is tried again.
  case actionRetry = 8
  /// A notification that its user snoozed or postponed comes back.
  case wake = 9
  /// The restoring of a bucket goes on where it was cut short.
  case refillBucket = 10
}

/// A row of `timers`.
struct DueTimer: Sendable, Hashable {
  var user: String
  var subject: String
  var kind: TimerKind
  var dueMs: Int64
}

/// The table `timers`: one timer of a kind for each subject.
enum TimerTable {
  static let setSQL = """
    INSERT INTO timers (user_id, subject_id, kind, due_ms) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id, subject_id, kind) DO UPDATE SET due_ms = excluded.due_ms
    """
  static let clearSQL = "DELETE FROM timers WHERE user_id = $1 AND subject_id = $2 AND kind = $3"
  static let clearAllSQL = "DELETE FROM timers WHERE user_id = $1 AND subject_id = $2"
  /// In the order in which they are due; those of one instant in the order of their subjects, so that what was held is
  /// released in the order in which it came.
  static let dueSQL = """
    SELECT user_id, subject_id, kind, due_ms FROM timers WHERE due_ms <= $1 ORDER BY due_ms, subject_id LIMIT $2
    """
  static let nextSQL = "SELECT min(due_ms) FROM timers"
  static let hastenSQL = "UPDATE timers SET due_ms = $1 WHERE user_id = $2 AND kind = $3 AND due_ms > $1"

  static func due(_ row: borrowing SQLRow) throws -> DueTimer? {
    // A kind of a newer program is left where it is.
    guard let kind = TimerKind(rawValue: try row.integer(2)) else { return nil }
    return DueTimer(user: try row.text(0), subject: try row.text(1), kind: kind, dueMs: try row.integer(3))
  }
}

extension WriteTransaction {
  /// Sets a timer, in place of one that its subject has of the kind.
  func setTimer(_ kind: TimerKind, _ subject: String, user: String, dueMs: Int64, _ board: CommitBoard) throws {
    try execute(TimerTable.setSQL, [.text(user), .text(subject), .integer(kind.rawValue), .integer(dueMs)])
    board.scheduled(dueMs)
  }

  func clearTimers(of subject: String, user: String) throws {
    try execute(TimerTable.clearAllSQL, [.text(user), .text(subject)])
  }

  func clearTimer(_ kind: TimerKind, _ subject: String, user: String) throws {
    try execute(TimerTable.clearSQL, [.text(user), .text(subject), .integer(kind.rawValue)])
  }
}
