import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The repository over the embedded store. Reads run on the caller's thread, so that a handler never leaves its event
/// loop for one; writes join the store's group commit.
struct SQLiteAttendanceRepository: AttendanceRepository, StoreBacked {
  let store: Store
  let limits: AttendanceLimits
  let ids: SortableIDGenerator
  let clockMs: @Sendable () -> Int64
  let random: @Sendable () -> UInt64
  let board: CommitBoard
  /// What the writes of a commit share; its `complete` runs before every commit.
  let heads: CommitHeads
  /// Names this database in the tokens of those who catch up.
  let epoch: UInt64
  /// Signs check-in codes.
  let codeKey: [UInt8]

  /// `initialSettings` are taken by a new database; `codeKey` is the key of one.
  init(
    store: Store, limits: AttendanceLimits, board: CommitBoard, heads: CommitHeads, initialSettings: LodgeSettings,
    codeKey: [UInt8],
    clockMs: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64
  ) async throws {
    self.store = store
    self.limits = limits
    self.board = board
    self.heads = heads
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
    guard let bytes = Self.bytes(ofHexadecimal: kept), bytes.count == CheckInCode.keySizeBytes else {
      throw StoreError(.corrupt, "the key of the check-in codes cannot be read")
    }
    self.codeKey = bytes
  }

  /// A change by a caller.
  func change<T: Sendable>(
    by caller: Caller, _ body: @escaping @Sendable (Ledger) throws -> T
  ) async throws -> T {
    try await storeWrite { transaction in
      try body(
        Ledger(
          transaction: transaction, caller: caller, nowMs: clockMs(), limits: limits, board: board, heads: heads,
          random: random))
    }
  }

  /// A change that is done once for a request id; a repeat answers what the first one made.
  func change<M: ProtoMessage>(
    by caller: Caller, _ repeatable: RepeatableRequest?, _ body: @escaping @Sendable (Ledger) throws -> M
  ) async throws -> M {
    try await change(by: caller) { ledger in
      if let reply = try replayed(M.self, repeatable, ledger.transaction) { return reply }
      let reply = try body(ledger)
      try keep(reply, repeatable, ledger.transaction)
      return reply
    }
  }

  private static func bytes(ofHexadecimal text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
