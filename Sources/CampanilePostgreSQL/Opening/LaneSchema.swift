import CampanileStore

/// The tables that order the commits of all processes on one database, and the leases of these processes.
///
/// A lane's row is the lock of its writers, and counts their commits. `store_commits` has a row for each session of a
/// writer, with its last commit, so that a COMMIT whose answer was lost can be looked up. Both rows are updated in
/// place; the fill factor leaves room for it on their page.
enum LaneSchema {
  /// Number of commits after which the row of an ended session is deleted.
  static let retainedCommits = 1_000_000

  static let tables = """
    SELECT pg_advisory_xact_lock(7020094);
    CREATE TABLE IF NOT EXISTS store_lanes (
      lane BIGINT NOT NULL PRIMARY KEY, head BIGINT NOT NULL) WITH (fillfactor = 50);
    CREATE TABLE IF NOT EXISTS store_commits (
      lane BIGINT NOT NULL, session BIGINT NOT NULL, number BIGINT NOT NULL, token BIGINT NOT NULL,
      is_fenced BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (lane, session)) WITH (fillfactor = 50);
    CREATE TABLE IF NOT EXISTS store_leases (
      name TEXT NOT NULL PRIMARY KEY, owner BIGINT NOT NULL, term BIGINT NOT NULL, until_ms BIGINT NOT NULL,
      backend BIGINT NOT NULL) WITH (fillfactor = 50);
    INSERT INTO store_lanes (lane, head) VALUES (0, 0) ON CONFLICT (lane) DO NOTHING;
    """

  /// Takes the lane for transaction `$2` of session `$1`. Fails with `division_by_zero` if the session was fenced.
  static let takeLane = takeLane("")

  /// Takes the lane with the head `$3` of the last commit. Fails with `division_by_zero`, too, if the head is another.
  static let followLane = takeLane(" AND head = $3")

  /// One statement, although its snapshot may be from before the wait for the lane: an update reads the newest version
  /// of its row.
  private static func takeLane(_ condition: String) -> String {
    """
    WITH taken AS (UPDATE store_lanes SET head = head + 1 WHERE lane = 0\(condition) RETURNING head),
      recorded AS (
        UPDATE store_commits SET number = taken.head, token = $2 FROM taken
        WHERE lane = 0 AND session = $1 AND is_fenced = 0 RETURNING number)
    SELECT coalesce(max(number), 0) / count(*) FROM recorded
    """
  }

  private static let nowMs = LeaseStatements.serverNowMs

  /// A lease is free at its end, and as soon as its owner's session has ended. Times are the server's.
  static let leases = LeaseStatements(
    take: """
      INSERT INTO store_leases (name, owner, term, until_ms, backend)
      VALUES ($1, $2, 1, \(nowMs) + $3, pg_backend_pid())
      ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, term = store_leases.term + 1,
        until_ms = excluded.until_ms, backend = excluded.backend
      WHERE store_leases.until_ms < \(nowMs)
        OR NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = store_leases.backend)
      RETURNING term
      """,
    extend: """
      UPDATE store_leases SET until_ms = CASE $4::BIGINT WHEN 0 THEN 0 ELSE \(nowMs) + $4 END, backend = pg_backend_pid()
      WHERE name = $1 AND owner = $2 AND term = $3
      """,
    check: "SELECT 1 / count(*) FROM store_leases WHERE name = $1 AND owner = $2 AND term = $3")

  static func register(session: Int64) -> String {
    """
    INSERT INTO store_commits (lane, session, number, token)
    SELECT lane, \(session), head, 0 FROM store_lanes WHERE lane = 0
    """
  }

  static let purge = """
    DELETE FROM store_commits WHERE lane = 0
    AND number < (SELECT head FROM store_lanes WHERE lane = 0) - \(retainedCommits)
    """

  /// Ends statements of a vanished client that wait for the lane. Servers of other systems may refuse the setting.
  static let watchClient = """
    SELECT set_config('client_connection_check_interval', '5s', false) WHERE version() LIKE '%linux%'
    """

  /// Waits until the session's last transaction has ended, if it has begun.
  static let lockLane = "SELECT head FROM store_lanes WHERE lane = 0 FOR UPDATE"

  /// Stops the session's transaction if it has not begun, and returns the token of the last one that was committed.
  static func fence(session: Int64) -> String {
    "UPDATE store_commits SET is_fenced = 1 WHERE lane = 0 AND session = \(session) RETURNING token"
  }
}
