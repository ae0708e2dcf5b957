import CampanileService
import CampanileStore

/// One row of the change log.
struct LoggedActivityChange: Sendable, Hashable {
  /// The kind of change. Raw values are stored in the database; never reuse one.
  enum Kind: Int64, Sendable {
    case started = 1
    case updated = 2
    case ended = 3
  }

  /// Sequence number, ascending without gaps in commit order across all users.
  var sequence: Int64
  var kind: Kind
  var activityID: String
  var timeMs: Int64
  /// The activity at the time of reading; nil if it no longer exists.
  var activity: StoredActivity?
}

/// The table `changes`. A row identifies the changed activity; readers load its state from `activities`.
enum ActivityChangeLog {
  static let ofUserSQL = """
    SELECT sequence, kind, activity_id, at_ms FROM changes WHERE user_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3
    """
  static let insertSQL = """
    INSERT INTO changes (sequence, user_id, kind, activity_id, at_ms)
    VALUES ($1, $2, $3, $4, $5)
    """

  static func change(_ row: borrowing SQLRow) throws -> LoggedActivityChange {
    guard let kind = LoggedActivityChange.Kind(rawValue: try row.integer(1)) else {
      throw StoreError(.corrupt, "the change log holds an unknown kind")
    }
    return LoggedActivityChange(
      sequence: try row.integer(0), kind: kind, activityID: try row.text(2), timeMs: try row.integer(3))
  }
}

extension WriteTransaction {
  /// Appends a change and marks its user for notification after the commit.
  func log(_ kind: LoggedActivityChange.Kind, _ activity: StoredActivity, atMs: Int64, _ notifier: AlarmSchedule) throws
  {
    try notifier.log(activity.user, atMs: atMs, self) { sequence, atMs in
      try execute(
        ActivityChangeLog.insertSQL,
        [.integer(sequence), .text(activity.user), .integer(kind.rawValue), .text(activity.id), .integer(atMs)])
    }
  }
}
