import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore

/// The repository over the embedded store. Reads run on the caller's thread, so that a handler never leaves its event
/// loop for one; writes join the store's group commit.
struct SQLiteNotificationsRepository: NotificationsRepository {
  let store: Store
  let limits: NotificationsLimits
  let ids: SortableIDGenerator
  let clockMs: @Sendable () -> Int64
  let board: CommitBoard
  /// Names this database's change log in resume tokens.
  let epoch: UInt64

  /// `random` names a new database's log and fills ids.
  init(
    store: Store, limits: NotificationsLimits, board: CommitBoard, clockMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64
  ) async throws {
    self.store = store
    self.board = board
    self.limits = limits
    self.clockMs = clockMs
    ids = SortableIDGenerator(clockMs: clockMs, random: random)
    let candidate = random()
    epoch = try await store.write { transaction in
      try transaction.execute(
        "INSERT INTO notifications_meta (name, value) VALUES ('log.epoch', $1) ON CONFLICT (name) DO NOTHING",
        [.text(String(candidate, radix: 16))])
      let kept = try transaction.queryOne(Self.epochSQL) { try $0.text(0) }
      guard let epoch = kept.flatMap({ UInt64($0, radix: 16) }) else {
        throw StoreError(.corrupt, "the epoch of the change log cannot be read")
      }
      return epoch
    }
  }

  static let epochSQL = "SELECT value FROM notifications_meta WHERE name = 'log.epoch'"

  /// A write whose failures are `RPCError`s.
  func write<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T {
    try await writeBesidePublications { transaction in
      try board.settle(transaction)
      return try body(transaction)
    }
  }

  /// A write that neither reads nor changes what publications of the same commit keep in mind (see `CommitBoard.publish`).
  func writeBesidePublications<T: Sendable>(
    _ body: @escaping @Sendable (WriteTransaction) throws -> T
  ) async throws -> T {
    try await store.writing(body)
  }

  /// Several queries on one snapshot.
  func read<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    do {
      return try store.read(body)
    } catch let failure as StoreError {
      throw RPCError(failure)
    }
  }

  /// One query.
  func readSingle<T>(_ body: (ReadTransaction) throws -> T) throws -> T { try store.readingSingle(body) }

  func unreadCounts(user: String) throws -> UnreadCounts { try read { try $0.unreadCounts(user: user) } }

  /// The reply that was given to a request before; nil when it is new. Throws `requestIDReused`.
  func replayed<M: ProtoMessage>(
    _ type: M.Type, _ repeatable: RepeatableRequest?, _ transaction: WriteTransaction
  ) throws -> M? {
    guard let repeatable,
      let reply = try transaction.storedReply(
        repeatable.key, requestHash: repeatable.requestHash, nowMs: clockMs())
    else { return nil }
    return try StoredJSON.message(M.self, reply, "a stored reply")
  }

  func keep(_ reply: some ProtoMessage, _ repeatable: RepeatableRequest?, _ transaction: WriteTransaction) throws {
    guard let repeatable else { return }
    try transaction.storeReply(
      reply.jsonUTF8Bytes(), repeatable.key, requestHash: repeatable.requestHash,
      expiresAtMs: clockMs() + Idempotency.retentionMs)
  }
}
