public import CampanileStore

/// The service with the store below it, as an executable or a test runs it.
public final class NotificationsComponent: Sendable {
  public let service: NotificationsService
  public let store: Store
  private let compactor: ChangeLogCompactor

  /// Opens the store (see `Store.init` for what it throws) and prepares the change log.
  ///
  /// `nowMs` is the wall clock in milliseconds since 1970, `random` a source of 64 random bits.
  public init(
    store configuration: StoreConfiguration, limits: NotificationsLimits = NotificationsLimits(),
    retention: ChangeRetention = ChangeRetention(), nowMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
  ) async throws {
    let store = try Store(configuration, migrations: NotificationsMigrations.all)
    self.store = store
    compactor = ChangeLogCompactor(store: store, retention: retention)
    do {
      service = try await NotificationsService(store: store, limits: limits, clockMs: nowMs, random: random)
    } catch {
      await store.close()
      throw error
    }
  }

  /// Open watches.
  public var watchCount: Int { service.watchCount }

  /// Drops changes and idempotent replies that are past their time, in small batches that never hold up writers for long.
  /// Answers how many rows went; call it about once a minute.
  @discardableResult
  public func maintain(nowMs: Int64) async throws -> Int {
    // Bounded: what is left over is for the next time.
    try await compactor.compact(nowMs: nowMs, batchesMax: 200) + store.purgeIdempotency(nowMs: nowMs)
  }

  /// Ends the watches with UNAVAILABLE, so that a drain does not wait for them.
  public func endWatches() { service.endWatches() }

  /// Ends the watches and closes the store.
  public func close() async {
    service.endWatches()
    await store.close()
  }
}
