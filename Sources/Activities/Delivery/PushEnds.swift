import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore
import Synchronization

/// The newest ends of pushes in the order of their commits. The delivery log has them by id, which is the order of
/// queueing.
///
/// They are in memory on SQLite, and in `PushEndTable` on a database that several processes use.
final class PushEnds: Sendable {
  /// The scope of resume tokens, and the name of all watchers at the hub. No user has it.
  static let scope = "*"
  static let countMax = 10_000

  /// An end and its place in the order.
  struct Entry: Sendable, Hashable {
    var sequence: Int64
    var apnsID: String
  }

  private let log: Mutex<RecentLog<String>>
  /// The epoch of the table; nil if the ends are in memory.
  private let tableEpoch = Mutex<UInt64?>(nil)
  /// Wakes the watches after each append.
  let hub: WatchHub

  init(epoch: UInt64, hub: WatchHub, countMax: Int = PushEnds.countMax) {
    log = Mutex(RecentLog(epoch: epoch, countMax: countMax))
    self.hub = hub
  }

  /// Begins to use the table if other processes may use the database.
  func open(_ store: Store) async throws {
    guard store.isShared else { return }
    let candidate = log.withLock { $0.epoch }
    let epoch = try await store.write { try $0.logEpoch(in: "delivery_meta", candidate: candidate) }
    tableEpoch.withLock { $0 = epoch }
  }

  /// Adds the ends of a commit, unless they are in the table, and wakes the watches.
  func append(_ ids: [String]) {
    guard !ids.isEmpty else { return }
    if tableEpoch.withLock({ $0 }) == nil { log.withLock { log in for id in ids { log.append(id) } } }
    hub.notify(user: Self.scope)
  }

  /// Returns the position where a watch begins: the present for an empty token.
  ///
  /// - Throws: INVALID_ARGUMENT for a token of another list, and OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func start(resumeToken: String, _ store: Store) async throws -> ResumeToken {
    guard let epoch = tableEpoch.withLock({ $0 }) else {
      return try log.withLock { log throws(RPCError) in try log.start(resumeToken: resumeToken, scope: Self.scope) }
    }
    let (first, last) = try await store.readSingle { try PushEndTable.bounds($0) }
    return try ResumeToken.start(
      resumeToken, present: ResumeToken(epoch: epoch, sequence: last), scope: Self.scope
    ) { $0 >= first - 1 }
  }

  /// Returns the ends after a position, at most `limit`. Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func entries(after position: ResumeToken, limit: Int, _ store: Store) async throws -> [Entry] {
    if tableEpoch.withLock({ $0 }) == nil {
      return try log.withLock { log throws(RPCError) in
        try log.entries(after: position.sequence, limit: limit).enumerated().map { index, id in
          Entry(sequence: position.sequence + Int64(index) + 1, apnsID: id)
        }
      }
    }
    return try await store.read { transaction in
      guard try position.sequence >= PushEndTable.bounds(transaction).first - 1 else {
        throw ChangeLogTable.tokenTooOld
      }
      return try transaction.query(PushEndTable.afterSQL, [.integer(position.sequence), .int(limit)]) { row in
        Entry(sequence: try row.integer(0), apnsID: try row.text(1))
      }
    }
  }
}
