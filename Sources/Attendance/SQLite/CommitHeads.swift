import CampanileStore
import Synchronization

/// How far the sequence and the audit log have come in the running transaction, so that the writes of one commit ask the
/// tables once and tell the counter once.
///
/// Touched by the writer's thread alone; the lock says so to the compiler.
final class CommitHeads: Sendable {
  /// The last entry of the audit log.
  struct AuditHead: Sendable {
    var sequence: Int64
    var hash: [UInt8]
  }

  private struct State {
    /// The last that was handed out; nil until the first is asked for.
    var sequence: Int64?
    var audit: AuditHead?
  }

  static let readSQL = "SELECT value FROM counters WHERE name = 'sequence'"
  static let writeSQL = "UPDATE counters SET value = $1 WHERE name = 'sequence'"

  private let state = Mutex(State())

  /// A transaction begins: nothing of an earlier one counts.
  func begin() { state.withLock { $0 = State() } }

  /// The first of `count` sequences. Those of a write that fails are never used.
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

  /// Before the commit: keeps the last sequence that was handed out.
  func complete(_ transaction: WriteTransaction) throws {
    guard let last = state.withLock({ $0.sequence }) else { return }
    try transaction.execute(Self.writeSQL, [.integer(last)])
  }

  /// The last entry of the audit log; nil when there is none.
  func auditHead(_ transaction: WriteTransaction) throws -> AuditHead? {
    if let known = state.withLock({ $0.audit }) { return known }
    return try transaction.queryOne(AuditRow.lastSQL) {
      AuditHead(sequence: try $0.integer(0), hash: try $0.bytes(1))
    }
  }

  /// An entry was added. One that may be undone alone is looked for in the table.
  func added(_ head: AuditHead, _ transaction: WriteTransaction) {
    guard !transaction.isUndoneAlone else { return }
    state.withLock { $0.audit = head }
  }
}
