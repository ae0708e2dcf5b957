import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The repository over the embedded store. Reads run on the caller's thread, so that a handler never leaves its event
/// loop. Writes join the store's group commit.
struct SQLiteAttendanceRepository: AttendanceRepository, StoreBacked {
  let store: Store
  let limits: AttendanceLimits
  let ids: SortableIDGenerator
  let clockMs: @Sendable () -> Int64
  let random: @Sendable () -> UInt64
  let notifier: RosterNotifier
  /// The state that the writes of a commit share; its `complete` runs before every commit.
  let heads: CommitHeads
  /// Wakes the schedule of notices; nil if no notices are sent.
  let noticeSignal: CommitSignal?
  let widgetSignal: CommitSignal?
  /// The id of this database in the tokens of clients that catch up.
  let epoch: UInt64
  /// The key that signs check-in codes.
  let codeKey: [UInt8]

  /// Prepares the store. A new database stores `initialSettings` and `codeKey`; an existing one keeps its own.
  init(
    store: Store, limits: AttendanceLimits, notifier: RosterNotifier, heads: CommitHeads,
    noticeSignal: CommitSignal?, widgetSignal: CommitSignal?, initialSettings: LodgeSettings, codeKey: [UInt8],
    clockMs: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64
  ) async throws {
    self.store = store
    self.limits = limits
    self.notifier = notifier
    self.heads = heads
    self.noticeSignal = noticeSignal
    self.widgetSignal = widgetSignal
    self.clockMs = clockMs
    self.random = random
    ids = SortableIDGenerator(clockMs: clockMs, random: random)
    let candidate = random()
    let settings = initialSettings.jsonString()
    let key = Hexadecimal.text(codeKey)
    let (epoch, kept) = try await store.write { transaction in
      try transaction.execute(
        "INSERT INTO attendance_meta (name, value) VALUES ('settings', $1) ON CONFLICT (name) DO NOTHING",
        [.text(settings)])
      try transaction.execute(
        "INSERT INTO attendance_meta (name, value) VALUES ('check-in.key', $1) ON CONFLICT (name) DO NOTHING",
        [.text(key)])
      let kept = try transaction.queryOne("SELECT value FROM attendance_meta WHERE name = 'check-in.key'") {
        try $0.text(0)
      }
      return (try transaction.logEpoch(in: "attendance_meta", candidate: candidate), kept ?? "")
    }
    self.epoch = epoch
    guard let bytes = Hexadecimal.bytes(kept), bytes.count == CheckInCode.keySizeBytes else {
      throw StoreError(.corrupt, "the key of the check-in codes is malformed")
    }
    self.codeKey = bytes
  }

  /// Runs a caller's change in a transaction.
  func change<T: Sendable>(
    by caller: AttendanceCaller, ahead: @autoclosure () -> ReadAhead? = nil,
    _ body: @escaping @Sendable (WriteContext) throws -> T
  ) async throws -> T {
    try await storeWrite(ahead: ahead()) { transaction in
      try body(
        WriteContext(
          transaction: transaction, caller: caller, nowMs: clockMs(), limits: limits, notifier: notifier, heads: heads,
          noticeSignal: noticeSignal, widgetSignal: widgetSignal, random: random))
    }
  }

  /// Runs a change once for each request id. A repeated request returns the stored response.
  func change<M: ProtoMessage>(
    by caller: AttendanceCaller, ahead: @autoclosure () -> ReadAhead? = nil, _ idempotency: IdempotentRequest?,
    _ body: @escaping @Sendable (WriteContext) throws -> M
  ) async throws -> M {
    try await change(by: caller, ahead: ahead()) { context in
      if let reply = try storedReply(M.self, idempotency, context.transaction) { return reply }
      let reply = try body(context)
      try storeReply(reply, idempotency, context.transaction)
      return reply
    }
  }
}
