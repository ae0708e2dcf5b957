import CPostgreSQL
import CampanileStore

/// A connection of a store: a session with a server, its prepared statements, and the state of its transaction. A lost
/// session is replaced when no transaction needs it.
///
/// `@unchecked Sendable`: a connection has one user at a time, as `SQLiteConnection` does.
final class PostgreSQLConnection: StoreConnection, @unchecked Sendable {
  /// The state of the transaction. BEGIN is sent with its first statement.
  enum Stage {
    case none, requested, open
  }

  let opener: SessionOpener
  let role: SessionRole
  var session: Session
  var stage = Stage.none
  var changeMark: Int64 = 0
  /// The first failure of a statement that nobody waited for.
  var deferredFailure: StoreError?
  /// The failure of a statement of this transaction, after which the server refuses others.
  var abortedBy: StoreError?
  /// The number of transactions that this connection has begun.
  var token: Int64 = 0
  /// The lane's head, as far as it is known.
  var lane = LanePosition()
  var sizeKnownUntil = ContinuousClock.now
  /// The answers to queries asked ahead in this transaction.
  var answers: [SQLQuery: AheadAnswer] = [:]
  let parameters = ParameterBuffer()
  /// The arguments of the lane's statement, which is sent between those of another statement.
  let laneParameters = ParameterBuffer()
  private var statements = StatementCache<PreparedCommand>()
  /// Those that fail unless they change a row.
  private var mandatoryChanges = StatementCache<PreparedCommand>()
  private var statementsCount = 0
  /// The number of statements that were run, and the one at which the server plans all of them anew.
  private var runsCount = 0
  private var plannedRun = 1_000
  private var discarded = DiscardedNames()

  init(_ opener: SessionOpener, _ role: SessionRole) throws(StoreError) {
    self.opener = opener
    self.role = role
    session = try opener.open(role)
  }

  var place: String { opener.address.place }
  var dialect: SQLDialect { .postgreSQL }

  func close() throws(StoreError) { session.finish() }

  /// Replaces the session. Nothing of the old one is used again.
  func adopt(_ fresh: Session) {
    session.finish()
    forgetStatements()
    discarded = DiscardedNames()
    session = fresh
    lane = LanePosition()
    opener.counters.addReconnect()
  }

  /// Replaces the session if it has ended. Only without a transaction.
  func ensureAlive() throws(StoreError) {
    if !session.isAlive() { adopt(try opener.open(role)) }
  }

  /// Returns the prepared statement for a text. Waits for the server if it is new.
  ///
  /// - Parameter mustChange: Whether the server must refuse it if it changes no row, with `division_by_zero`.
  func statement(
    _ sql: String, _ allowed: StatementKinds, mustChange: Bool = false
  ) throws(StoreError) -> PreparedCommand {
    try refuseIfAborted()
    refreshPlans()
    if let known = mustChange ? mandatoryChanges.find(sql) : statements.find(sql) {
      guard allowed.contains(known.kind) else { throw refusedKind(allowed) }
      return known
    }
    let kind = StatementKinds.kind(of: sql)
    guard allowed.contains(kind) else { throw refusedKind(allowed) }
    if role == .reader, stage != .open { try dropDiscarded() }
    statementsCount += 1
    let name = "s\(statementsCount)"
    let text = mustChange ? "WITH changed AS (\(sql) RETURNING 1) SELECT 1 / count(*) FROM changed" : sql
    try session.prepare(name, text)
    try session.describe(name)
    try settle()
    guard let description = session.takeWanted() else { throw session.end("a description is missing") }
    defer { PQclear(description) }
    let command = PreparedCommand(sql, name, kind, description, discarded)
    if mustChange { mandatoryChanges.keep(command) } else { statements.keep(command) }
    return command
  }

  /// Has the server plan all statements anew after the 1,000th, the 4,000th, and so on.
  ///
  /// A plan that was made while a table was small may read all rows of a user to find one. The server keeps it until it
  /// has analyzed the table, a minute later by default.
  private func refreshPlans() {
    runsCount += 1
    guard runsCount >= plannedRun, stage != .open, session.lost == nil else { return }
    plannedRun = 4 * runsCount
    do throws(StoreError) {
      try session.send(Command(kind: .statement), text: "DISCARD PLANS")
      try session.sync()
    } catch {
      // The statement itself finds the same failure.
    }
  }

  /// Forgets all prepared statements, for example because a column has another type now.
  func forgetStatements() {
    statements.removeAll()
    mandatoryChanges.removeAll()
  }

  /// Makes the server drop the statements that were forgotten. Only without a transaction, which an error would end.
  func dropDiscarded() throws(StoreError) {
    guard !discarded.names.isEmpty else { return }
    for name in discarded.names { try session.send(Command(kind: .statement), text: "DEALLOCATE \(name)") }
    discarded.names = []
    try session.sync()
  }
}
