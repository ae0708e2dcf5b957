import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

/// The table `push_ends`: the newest ends of pushes in the order of their commits, on a database that several processes
/// use.
///
/// Sequences ascend by 1. Rows are deleted from the oldest only, and the last one stays.
enum PushEndTable {
  /// Adds the ids of one commit, separated by commas. PostgreSQL's, so that it costs one statement and no answer.
  static let addSQL = """
    INSERT INTO push_ends (sequence, apns_id)
    SELECT (SELECT coalesce(max(sequence), 0) FROM push_ends) + t.n, t.id
    FROM unnest(string_to_array($1, ',')) WITH ORDINALITY AS t (id, n)
    """
  static let boundsSQL = "SELECT coalesce(min(sequence), 1), coalesce(max(sequence), 0) FROM push_ends"
  static let afterSQL = "SELECT sequence, apns_id FROM push_ends WHERE sequence > $1 ORDER BY sequence LIMIT $2"
  static let purgeSQL = """
    DELETE FROM push_ends WHERE sequence IN (
      SELECT sequence FROM push_ends WHERE sequence < $1 ORDER BY sequence LIMIT $2)
    """

  static func add(_ ids: [String], _ transaction: WriteTransaction) throws {
    try transaction.execute(addSQL, [.text(ids.joined(separator: ","))])
  }

  /// Returns the sequences of the first and the last row; 1 and 0 without any.
  static func bounds(_ transaction: ReadTransaction) throws -> (first: Int64, last: Int64) {
    try transaction.queryOne(boundsSQL) { (try $0.integer(0), try $0.integer(1)) } ?? (1, 0)
  }
}
