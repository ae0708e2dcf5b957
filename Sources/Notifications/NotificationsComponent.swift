public import CampanileStore
import Synchronization

/// The service with all it needs, wired in one place.
public final class NotificationsComponent: Sendable {
  public let service: NotificationsService
  public let store: Store
  private let repository: any NotificationsRepository
  private let hub: WatchHub

  /// Opens the store (see `Store.init` for what it throws) and prepares the change log.
  ///
  /// `nowMs` and `random` are the wall clock and a source of random numbers.
  public init(
    store configuration: StoreConfiguration, limits: NotificationsLimits = NotificationsLimits(),
    nowMs: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64
  ) async throws {
    let store = try Store(configuration, migrations: NotificationsMigrations.all)
    let hub = WatchHub()
    let repository = try await SQLiteNotificationsRepository(
      store: store, ids: EntityIDGenerator(nowMs: nowMs, random: random), nowMs: nowMs, limits: limits,
      newEpoch: String(random(), radix: 36), committed: { hub.committed($0) })
    self.store = store
    self.hub = hub
    self.repository = repository
    service = NotificationsService(repository: repository, hub: hub)
  }

  /// How many watches are open.
  public var watchCount: Int { hub.watchCount }

  /// Deletes changes and idempotent replies that are past their time, in small batches that never hold up writers for long.
  /// Answers how many rows went; call it about once a minute.
  @discardableResult
  public func maintain(nowMs: Int64) async throws -> Int {
    var total = 0
    // Bounded: what is left over is for the next time.
    for _ in 0..<200 {
      let count = try await repository.compactChanges(batch: 500)
      total += count
      if count < 500 { break }
    }
    return try await total + store.purgeIdempotency(nowMs: nowMs)
  }

  /// Ends the watches with UNAVAILABLE, so that a drain does not wait for them.
  public func endWatches() { hub.close() }

  public func close() async { await store.close() }
}
