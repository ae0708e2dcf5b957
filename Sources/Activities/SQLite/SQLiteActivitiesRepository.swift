import APNs
import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The repository over the embedded store.
struct SQLiteActivitiesRepository: ActivitiesRepository, StoreBacked {
  let store: Store
  let limits: ActivitiesLimits
  let policy: ActivitiesPolicy
  let ids: SortableIDGenerator
  let clockMs: @Sendable () -> Int64
  let board: WakeBoard
  let queue: PushQueue
  /// What the updates of a commit share; its `settle` runs before every commit.
  let states: StateWriter
  /// Names this database's change log in resume tokens.
  let epoch: UInt64

  /// `random` names a new database's log and fills ids.
  init(
    store: Store, limits: ActivitiesLimits, policy: ActivitiesPolicy, states: StateWriter,
    random: @escaping @Sendable () -> UInt64
  ) async throws {
    self.store = store
    self.limits = limits
    self.policy = policy
    self.states = states
    board = states.board
    queue = states.queue
    clockMs = states.clockMs
    ids = SortableIDGenerator(clockMs: clockMs, random: random)
    let candidate = random()
    epoch = try await store.write { try $0.logEpoch(in: "activities_meta", candidate: candidate) }
  }

  /// A write that looks at activities, and so lets the updates before it in the same commit be written first.
  func write<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T {
    try await storeWrite { transaction in
      try states.settle(transaction)
      return try body(transaction)
    }
  }

  func find(_ id: String, user: String, _ transaction: ReadTransaction) throws -> StoredActivity {
    let found = try transaction.queryOne(ActivityRow.oneSQL, [.text(user), .text(id)], ActivityRow.activity)
    guard let found else { throw RPCError.activityNotFound(id) }
    return found
  }

  func setTimer(
    _ kind: TimerKind, _ activity: StoredActivity, dueMs: Int64?, _ transaction: WriteTransaction
  ) throws {
    guard let dueMs else { return try transaction.clearTimer(kind, activity.id, user: activity.user) }
    try transaction.setTimer(kind, activity.id, user: activity.user, dueMs: dueMs)
    board.scheduled(dueMs)
  }

  /// The timers that a driver's state asks for.
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

  /// Adds to a user's counters. Where they would fall below zero the transaction fails.
  func count(activities: Int64 = 0, tokens: Int64 = 0, user: String, _ transaction: WriteTransaction) throws {
    // Not one statement: the row to be inserted would be checked before it meets the one that is there.
    let arguments: [SQLValue] = [.text(user), .integer(activities), .integer(tokens)]
    if try transaction.execute(Self.countSQL, arguments) == 0 { try transaction.execute(Self.addUserSQL, arguments) }
  }
}
