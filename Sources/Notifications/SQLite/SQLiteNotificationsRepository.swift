import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The repository over the embedded store. Reads run on the caller's thread, so that a handler never leaves its event
/// loop for one; writes join the store's group commit.
struct SQLiteNotificationsRepository: NotificationsRepository, StoreBacked {
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
    epoch = try await store.write { try $0.logEpoch(in: "notifications_meta", candidate: candidate) }
  }

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
    try await storeWrite(body)
  }

  func unreadCounts(user: String) throws -> UnreadCounts { try read { try $0.unreadCounts(user: user) } }
}
