public import CampanileStore

/// A row of `timers`: something due for a subject at a time. `Kind` is an enum of the service, whose raw values are
/// stored.
public struct DueTimer<Kind: RawRepresentable<Int64> & Hashable & Sendable>: Sendable, Hashable {
  public var user: String
  public var subject: String
  public var kind: Kind
  public var dueMs: Int64

  public init(user: String, subject: String, kind: Kind, dueMs: Int64) {
    self.user = user
    self.subject = subject
    self.kind = kind
    self.dueMs = dueMs
  }

  /// Returns nil for a kind of a newer version, whose row is left unchanged.
  init?(_ row: borrowing SQLRow) throws {
    guard let kind = Kind(rawValue: try row.integer(2)) else { return nil }
    self.init(user: try row.text(0), subject: try row.text(1), kind: kind, dueMs: try row.integer(3))
  }
}

/// The table `timers`, identical in each service that has one: at most one timer of a kind per subject and user.
public enum TimerTable {
  public static let setSQL = """
    INSERT INTO timers (user_id, subject_id, kind, due_ms) VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id, subject_id, kind) DO UPDATE SET due_ms = excluded.due_ms
    """
  public static let clearSQL = "DELETE FROM timers WHERE user_id = $1 AND subject_id = $2 AND kind = $3"
  public static let clearAllSQL = "DELETE FROM timers WHERE user_id = $1 AND subject_id = $2"
  public static let takeSQL = "DELETE FROM timers WHERE user_id = $1 AND subject_id = $2 AND kind = $3 AND due_ms = $4"
  public static let hastenSQL = "UPDATE timers SET due_ms = $1 WHERE user_id = $2 AND kind = $3 AND due_ms > $1"
  /// Ordered by due time, then by subject, so that held notifications are released in the order in which they were
  /// published.
  public static let dueSQL = """
    SELECT user_id, subject_id, kind, due_ms FROM timers WHERE due_ms <= $1 ORDER BY due_ms, subject_id LIMIT $2
    """
  public static let nextSQL = "SELECT min(due_ms) FROM timers"
}

extension WriteTransaction {
  /// Sets a timer and replaces the subject's timer of the same kind.
  public func setTimer(_ kind: some RawRepresentable<Int64>, _ subject: String, user: String, dueMs: Int64) throws {
    try execute(TimerTable.setSQL, [.text(user), .text(subject), .integer(kind.rawValue), .integer(dueMs)])
  }

  public func clearTimer(_ kind: some RawRepresentable<Int64>, _ subject: String, user: String) throws {
    try execute(TimerTable.clearSQL, [.text(user), .text(subject), .integer(kind.rawValue)])
  }

  public func clearTimers(of subject: String, user: String) throws {
    try execute(TimerTable.clearAllSQL, [.text(user), .text(subject)])
  }

  /// Deletes a timer's row. Returns false if it was changed after it had been read.
  public func takeTimer(_ timer: DueTimer<some RawRepresentable<Int64> & Hashable & Sendable>) throws -> Bool {
    try executeCounting(
      TimerTable.takeSQL,
      [.text(timer.user), .text(timer.subject), .integer(timer.kind.rawValue), .integer(timer.dueMs)]) > 0
  }
}

extension StoreBacked {
  /// Returns the due timers, earliest first.
  public func dueTimers<Kind>(_ kind: Kind.Type, nowMs: Int64, rowsMax: Int) async throws -> [DueTimer<Kind>] {
    try await readSingle { transaction in
      try transaction.query(
        TimerTable.dueSQL, [.integer(nowMs), .int(rowsMax)], rowsMax: rowsMax, { try DueTimer<Kind>($0) }
      ).compactMap { $0 }
    }
  }

  /// Returns the time of the next timer, or nil if there is none.
  public func nextTimerMs() async throws -> Int64? {
    try await readSingle { try $0.queryOne(TimerTable.nextSQL) { try $0.integerIfPresent(0) }.flatMap { $0 } }
  }
}
