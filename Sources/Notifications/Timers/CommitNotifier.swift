import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore
import Synchronization

/// Collects the users and timers affected by the current commit, and wakes watches and the timer loop afterwards.
///
/// Writes fill it on the writer's thread; it is emptied before and after their commit.
final class CommitNotifier: Sendable {
  /// The outbox topic for changed unread summaries. Its messages are empty: the summary is read when it is delivered.
  static let summaryTopic = "unread-summary"

  let alarms: AlarmSchedule
  private struct Publishing {
    /// The context shared by single publications of one commit, so that all of them together read state and update
    /// counts once. The next commit continues with it.
    var context: PublishingContext?
    /// Whether the last transaction was committed.
    var isKept = false
  }
  /// Only the writer's thread uses it; the lock satisfies the compiler.
  private let publishing = Mutex(Publishing())
  private let nowMs: @Sendable () -> Int64
  /// For each user changed in this commit by a sampled call, the trace of the latest such call.
  private let traces = Mutex<[String: TraceContext]>([:])

  init(hub: WatchHub, nowMs: @escaping @Sendable () -> Int64) {
    alarms = AlarmSchedule(hub: hub)
    self.nowMs = nowMs
  }

  /// Discards the state of an earlier transaction when a new one begins, unless it `continues` one that was committed.
  func begin(continues: Bool) {
    let hasContext = publishing.withLock { state in
      defer { state.isKept = false }
      if !continues || !state.isKept || state.context?.isKept(nowMs: nowMs()) != true { state.context = nil }
      return state.context != nil
    }
    if !hasContext { alarms.begin() }
    traces.withLock { if !$0.isEmpty { $0 = [:] } }
  }

  /// Returns the context shared by all publications of the commit, if there is one, and removes it until `share`.
  ///
  /// Only one copy of the context exists at a time, so that changing it copies nothing.
  func takeContext() -> PublishingContext? {
    publishing.withLock { $0.context.take() }
  }

  /// Stores the context for the next publication of the commit. A failed transaction discards it.
  func share(_ context: PublishingContext) { publishing.withLock { $0.context = context } }

  /// Writes the counts that publications of this commit have deferred. Call before every write that reads or changes
  /// buckets.
  func settle(_ transaction: WriteTransaction) throws {
    if var context = takeContext() { try context.finish(transaction) }
  }

  /// Appends a user's change to the log by `insert`, which gets its sequence and time, and marks the user as changed.
  func log(
    _ user: String, atMs: Int64, _ transaction: WriteTransaction, _ insert: (Int64, Int64) throws -> Void
  ) throws {
    try alarms.log(user, atMs: atMs, transaction, insert)
    traceChange(user)
  }

  /// Marks a user as changed.
  func changed(_ user: String) {
    alarms.changed(user)
    traceChange(user)
  }

  private func traceChange(_ user: String) {
    if let trace = CallScope.trace { traces.withLock { $0[user] = trace } }
  }

  /// Records that a timer was set.
  func scheduled(_ dueMs: Int64) { alarms.scheduled(dueMs) }

  /// Whether publications need no answer to a query.
  func knows(_ query: SQLQuery) -> Bool {
    if query.sql == ChangeLogTable.endSQL { return alarms.knowsEnd }
    return publishing.withLock { $0.context?.knows(query) ?? false }
  }

  /// Runs before the commit: enqueues a summary message for each user whose unread summary may have changed.
  func complete(_ transaction: WriteTransaction) throws {
    if var context = takeContext() {
      try context.finish(transaction)
      share(context)
    }
    let traces = traces.withLock { $0 }
    for user in alarms.seal().sorted() {
      // Bounded by the number of users: one message each.
      try transaction.enqueueLatest(
        topic: Self.summaryTopic, key: user, payload: [], nowMs: nowMs(), trace: traces[user])
    }
  }

  /// Runs after every commit, successful or not: wakes the watches and the timer loop. A spurious wake-up is harmless.
  func committed(isKept: Bool) {
    publishing.withLock { $0.isKept = isKept }
    alarms.committed()
  }
}
