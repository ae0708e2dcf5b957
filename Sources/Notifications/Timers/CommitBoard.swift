import CampanileRPC
import CampanileService
import CampanileStore
import Synchronization

/// What the writes of one commit leave to be done once for all of them: whose data has changed, and which timer is now the
/// first. Filled by writes on the writer's thread, emptied before and after their commit.
final class CommitBoard: Sendable {
  /// The topic of the outbox under which a user's changed summary is told. Its messages are empty: who delivers one reads
  /// the summary as it is then.
  static let summaryTopic = "unread-summary"

  let wake: WakeBoard
  /// What single publications of one commit know and add to counts, so that 64 of them read and count once. Touched by the
  /// writer's thread alone; the lock says so to the compiler.
  private let publishing = Mutex<PublishingContext?>(nil)
  private let nowMs: @Sendable () -> Int64
  /// Of the users that a recorded call has changed in this commit, the newest one's trace.
  private let traces = Mutex<[String: TraceContext]>([:])
  /// Rung when a timer was committed that is due before the loop would look again.
  var bell: WatchBell { wake.bell }

  init(hub: WatchHub, nowMs: @escaping @Sendable () -> Int64) {
    wake = WakeBoard(hub: hub)
    self.nowMs = nowMs
  }

  /// A transaction begins: nothing of an earlier one counts.
  func begin() {
    publishing.withLock { $0 = nil }
    traces.withLock { if !$0.isEmpty { $0 = [:] } }
  }

  /// Runs a publication in the context that those of one commit share.
  func publish<T>(
    nowMs: Int64, limits: NotificationsLimits, _ body: (inout PublishingContext) throws -> T
  ) throws -> T {
    try publishing.withLock { shared in
      var context = shared ?? PublishingContext(nowMs: nowMs, limits: limits)
      context.renew(nowMs: nowMs, limits: limits)
      shared = nil
      // What failed is undone with the transaction, and so is the context; without changes it added nothing.
      let result: T
      do {
        result = try body(&context)
      } catch {
        shared = context
        throw error
      }
      shared = context
      return result
    }
  }

  /// Writes the counts that publications of this commit have left. Before every write that reads or changes buckets.
  func settle(_ transaction: WriteTransaction) throws {
    let context = publishing.withLock { shared in
      defer { shared = nil }
      return shared
    }
    try context?.finish(transaction)
  }

  /// Something of a user was changed.
  func changed(_ user: String) {
    wake.changed(user)
    if let trace = CallScope.trace { traces.withLock { $0[user] = trace } }
  }

  /// A timer was set.
  func scheduled(_ dueMs: Int64) { wake.scheduled(dueMs) }

  /// Before the commit: whose unread summary may differ is put into the outbox, in the same transaction.
  func complete(_ transaction: WriteTransaction) throws {
    try settle(transaction)
    let traces = traces.withLock { $0 }
    for user in wake.seal().sorted() {
      // Bounded by the users there are: one message each.
      try transaction.enqueueLatest(
        topic: Self.summaryTopic, key: user, payload: [], nowMs: nowMs(), pendingMax: .max, trace: traces[user])
    }
  }

  /// After the commit: wakes the watches and the timers' loop. Also after one that failed, when they look in vain.
  func committed() { wake.committed() }

  /// When the loop will look again by itself.
  func plan(_ dueMs: Int64) { wake.plan(dueMs) }
}
