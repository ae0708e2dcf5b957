import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The repository on the embedded store.
///
/// Reads run on the caller's thread, so that a handler never leaves its event loop for them. Writes join the store's
/// group commit.
struct SQLiteNotificationsRepository: NotificationsRepository, TimerRepository {
  let store: Store
  let limits: NotificationsLimits
  let ids: SortableIDGenerator
  let clockMs: @Sendable () -> Int64
  let notifier: CommitNotifier
  /// Identifies this database's change log in resume tokens.
  let epoch: UInt64

  /// - Parameter random: Provides the epoch of a new database's change log and the random part of ids.
  init(
    store: Store, limits: NotificationsLimits, notifier: CommitNotifier, clockMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64
  ) async throws {
    self.store = store
    self.notifier = notifier
    self.limits = limits
    self.clockMs = clockMs
    ids = SortableIDGenerator(clockMs: clockMs, random: random)
    let candidate = random()
    epoch = try await store.write { try $0.logEpoch(in: "notifications_meta", candidate: candidate) }
  }

  var alarms: AlarmSchedule { notifier.alarms }

  /// Writes the counts that publications of the same commit have deferred, then performs a write. All errors are
  /// `RPCError`s.
  func write<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T {
    try await storeWrite { transaction in
      try notifier.settle(transaction)
      return try body(transaction)
    }
  }

  func unreadCounts(user: String) async throws -> UnreadCounts { try await read { try $0.unreadCounts(user: user) } }
}
