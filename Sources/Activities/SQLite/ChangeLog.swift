import CampanileService
import CampanileStore

/// One row of the change log.
struct Change: Sendable, Hashable {
  /// The numbers are in the database: never reuse one.
  enum Kind: Int64, Sendable {
    case started = 1
    case updated = 2
    case ended = 3
  }

  /// Ascending without gaps in the order of the commits, of all users together.
  var sequence: Int64
  var kind: Kind
  var activityID: String
  var timeMs: Int64
  /// As it is when the change is read; nil when it is gone.
  var activity: StoredActivity?
}

/// The table `changes`. A row says what changed, not how an activity looks: readers take that from `activities`.
enum ChangeLog {
  static let ofUserSQL = """
    SELECT sequence, kind, activity_id, at_ms FROM changes WHERE user_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3
    """
  static let insertSQL = """
    INSERT INTO changes (sequence, user_id, kind, activity_id, at_ms)
    VALUES ((SELECT coalesce(max(sequence), 0) + 1 FROM changes), $1, $2, $3, $4)
    """

  static func change(_ row: borrowing SQLRow) throws -> Change {
    guard let kind = Change.Kind(rawValue: try row.integer(1)) else {
      throw StoreError(.corrupt, "the change log holds an unknown kind")
    }
    return Change(
      sequence: try row.integer(0), kind: kind, activityID: try row.text(2), timeMs: try row.integer(3))
  }
}

extension WriteTransaction {
  /// Adds to the log and notes on the board whose it is.
  func log(_ kind: Change.Kind, _ activity: StoredActivity, atMs: Int64, _ board: WakeBoard) throws {
    try execute(
      ChangeLog.insertSQL,
      [.text(activity.user), .integer(kind.rawValue), .text(activity.id), .integer(atMs)])
    board.changed(activity.user)
  }
}
