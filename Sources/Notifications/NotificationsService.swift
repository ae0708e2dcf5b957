public import CampanileAPI
import CampanileRPC
public import CampanileStore

/// Serves `campanile.notifications.v1.NotificationsService`: checks requests, lets the repository act, and wakes the
/// user's watches after each commit. Everything belongs to the calling user.
public struct NotificationsService: NotificationsServiceProtocol {
  let repository: any NotificationsRepository
  let limits: NotificationsLimits
  let hub: WatchHub

  init(repository: any NotificationsRepository, limits: NotificationsLimits) {
    self.repository = repository
    self.limits = limits
    hub = WatchHub(limits: limits)
  }

  /// A service over an open store that has `NotificationsMigrations.all`.
  ///
  /// `clockMs` is the wall clock in milliseconds since 1970, `random` a source of 64 random bits. Throws when the store
  /// cannot be read.
  public init(
    store: Store, limits: NotificationsLimits = NotificationsLimits(), clockMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
  ) async throws {
    let repository = try await SQLiteNotificationsRepository(
      store: store, limits: limits, clockMs: clockMs, random: random)
    self.init(repository: repository, limits: limits)
  }

  /// Watches that are open now.
  public var watchCount: Int { hub.count }

  /// Ends all watches with UNAVAILABLE, reason `SERVICE_STOPPING`, so that a drain need not wait for them.
  public func endWatches() { hub.close() }

  var watch: NotificationWatch {
    NotificationWatch(repository: repository, hub: hub, pageRows: limits.watchPageRows)
  }

  /// Runs a change and wakes the user's watches, also after a failure: a commit may have succeeded whose
  /// acknowledgement was lost.
  func changing<T>(_ user: String, _ change: () async throws -> T) async throws -> T {
    defer { hub.ring(user: user) }
    return try await change()
  }
}
