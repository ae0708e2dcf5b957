import CampanileStore
import Synchronization

/// The last sequence and audit entry of the running transaction. The writes of one commit read the tables once and
/// store the counter once.
///
/// Used by the writer's thread only; the mutex satisfies the compiler.
final class CommitHeads: Sendable {
  /// The last entry of the audit log.
  struct AuditHead: Sendable {
    var sequence: Int64
    var hash: [UInt8]
  }

  private struct State {
    /// The last sequence handed out; nil until the first one is requested.
    var sequence: Int64?
    var audit: AuditHead?
  }

  static let readSQL = "SELECT value FROM counters WHERE name = 'sequence'"
  static let writeSQL = "UPDATE counters SET value = $1 WHERE name = 'sequence'"

  private let state = Mutex(State())

  /// Discards the state of the previous transaction. Call when a transaction begins.
  func begin() { state.withLock { $0 = State() } }

  /// Reserves sequences and returns the first of them. Those of a failed write are never used.
  func sequences(_ count: Int, _ transaction: WriteTransaction) throws -> Int64 {
    let last: Int64
    if let known = state.withLock({ $0.sequence }) {
      last = known
    } else {
      guard let stored = try transaction.queryOne(Self.readSQL, [], { try $0.integer(0) }) else {
        throw StoreError(.corrupt, "the counter sequence is missing")
      }
      last = stored
    }
    state.withLock { $0.sequence = last + Int64(count) }
    return last + 1
  }

  /// Stores the last sequence handed out. Call before the commit.
  func complete(_ transaction: WriteTransaction) throws {
    guard let last = state.withLock({ $0.sequence }) else { return }
    try transaction.execute(Self.writeSQL, [.integer(last)])
  }

  /// Returns the last entry of the audit log; nil if it is empty.
  func auditHead(_ transaction: WriteTransaction) throws -> AuditHead? {
    if let known = state.withLock({ $0.audit }) { return known }
    return try transaction.queryOne(AuditRow.lastSQL) {
      AuditHead(sequence: try $0.integer(0), hash: try $0.bytes(1))
    }
  }

  /// Records a new last entry. A write that may be rolled back alone is not recorded; the table is read instead.
  func added(_ head: AuditHead, _ transaction: WriteTransaction) {
    guard !transaction.usesSavepoint else { return }
    state.withLock { $0.audit = head }
  }
}
