import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The repository on top of the embedded store.
struct SQLiteActivitiesRepository: ActivitiesRepository, TimerRepository {
  let store: Store
  let limits: ActivitiesLimits
  let policy: ActivitiesPolicy
  let ids: SortableIDGenerator
  let clockMs: @Sendable () -> Int64
  let notifier: AlarmSchedule
  let queue: PushQueue
  /// Coalesces the updates of a commit; its `settle` runs before every commit.
  let stateWriter: CoalescingStateWriter
  /// Identifies this database's change log in resume tokens.
  let epoch: UInt64

  /// Creates the repository.
  ///
  /// - Parameter random: Source of the epoch of a new database's log, and of ids.
  init(
    store: Store, limits: ActivitiesLimits, policy: ActivitiesPolicy, stateWriter: CoalescingStateWriter,
    random: @escaping @Sendable () -> UInt64
  ) async throws {
    self.store = store
    self.limits = limits
    self.policy = policy
    self.stateWriter = stateWriter
    notifier = stateWriter.notifier
    queue = stateWriter.queue
    clockMs = stateWriter.clockMs
    ids = SortableIDGenerator(clockMs: clockMs, random: random)
    let candidate = random()
    epoch = try await store.write { try $0.logEpoch(in: "activities_meta", candidate: candidate) }
  }

  var alarms: AlarmSchedule { notifier }

  func learnSigningKeys() async throws -> Bool {
    try await RPCError.convertingStoreErrors { try await policy.learnKeys() }
  }

  /// Runs a write that reads or changes activities, after settling the pending updates of the same commit.
  func write<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T {
    try await storeWrite { transaction in
      try stateWriter.settle(transaction)
      return try body(transaction)
    }
  }

  /// Returns the stored reply of a repeated request, or the reply of `body`, which it stores.
  func once<M: ProtoMessage>(
    _ idempotency: IdempotentRequest?, _ transaction: WriteTransaction, _ body: () throws -> M
  ) throws -> M {
    if let reply = try storedReply(M.self, idempotency, transaction) { return reply }
    let reply = try body()
    try storeReply(reply, idempotency, transaction)
    return reply
  }

  func find(_ id: String, user: String, _ transaction: ReadTransaction) throws -> StoredActivity {
    let found = try transaction.queryOne(ActivityRow.oneSQL, [.text(user), .text(id)], ActivityRow.activity)
    guard let found else { throw RPCError.activityNotFound(id) }
    return found
  }

  func setTimer(
    _ kind: ActivityTimerKind, _ activity: StoredActivity, dueMs: Int64?, _ transaction: WriteTransaction
  ) throws {
    guard let dueMs else { return try transaction.clearTimer(kind, activity.id, user: activity.user) }
    try transaction.setTimer(kind, activity.id, user: activity.user, dueMs: dueMs)
    notifier.scheduled(dueMs)
  }

  /// Sets the timers that a driver's state requires.
  func setDriverTimers(_ activity: StoredActivity, _ transaction: WriteTransaction) throws {
    switch activity.driver {
    case .timer(let state):
      try setTimer(
        .timeOver, activity, dueMs: state.completesByItself ? TimerMachine(state).endMs : nil, transaction)
    case .room(let state):
      try setTimer(.waitingOver, activity, dueMs: RoomMachine(state).waitingEndMs, transaction)
    case .unread, nil: break
    }
  }

  // MARK: - Counters of users

  static let userSQL = "SELECT activity_count, token_count FROM users WHERE user_id = $1"
  static let countSQL = """
    UPDATE users SET activity_count = activity_count + $2, token_count = token_count + $3 WHERE user_id = $1
    """
  static let addUserSQL = """
    INSERT INTO users (user_id, activity_count, token_count, compacted_through) VALUES ($1, $2, $3, 0)
    """

  func counts(user: String, _ transaction: ReadTransaction) throws -> (activities: Int64, tokens: Int64) {
    try transaction.queryOne(Self.userSQL, [.text(user)]) { (try $0.integer(0), try $0.integer(1)) } ?? (0, 0)
  }

  /// Adds to a user's counters. The transaction fails if a counter would fall below zero.
  func count(activities: Int64 = 0, tokens: Int64 = 0, user: String, _ transaction: WriteTransaction) throws {
    // Not an upsert: its CHECK constraint would test the row to insert before the conflict is resolved.
    let arguments: [SQLValue] = [.text(user), .integer(activities), .integer(tokens)]
    if try transaction.executeCounting(Self.countSQL, arguments) == 0 {
      try transaction.execute(Self.addUserSQL, arguments)
    }
  }
}
