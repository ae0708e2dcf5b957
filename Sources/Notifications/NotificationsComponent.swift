import CampanileAPI
public import CampanileBase
public import CampanileRPC
public import CampanileService
public import CampanileStore
import Synchronization

/// The Notifications services and their store, as run by an executable or a test.
public final class NotificationsComponent: Sendable {
  /// The category of pushes, unless another is configured.
  public static let alertCategoryDefault = AlertRules.categoryDefault

  public let service: NotificationsService
  public let sharing: SharingService
  public let automation: AutomationService
  public let delivery: DeliveryService
  /// Export and import.
  public let transfer: TransferService
  /// The change feed and the reads of the service that stores files for devices.
  public let containers: ContainersService
  /// Reports by devices, and their counts.
  public let engagement: EngagementService
  public let store: Store
  let timers: NotificationTimerLoop
  private let compactor: ChangeLogCompactor
  let notifier: CommitNotifier
  /// Signalled after every commit.
  private let searchSignal = WakeSignal()
  /// The state of a fully merged search index. Nil while segments of an earlier process may still await merging.
  private let joinedSearch = Mutex<SearchState?>(nil)
  private let alertSignal = WakeSignal()
  private let summarySignal = WakeSignal()
  /// Nil if no push service is configured.
  let alerts: AlertFeed?
  let summaries: SummaryRelay?

  /// Opens the store and prepares the change log. Throws the errors of `Store.init`.
  ///
  /// - Parameters:
  ///   - alertCategory: The category of pushes, which selects the app's content extension and its buttons.
  ///   - nowMs: Returns the wall-clock time in milliseconds since 1970.
  ///   - random: A source of 64 random bits.
  ///   - tracer: Continues the traces of pushed notifications.
  ///   - log: Receives messages for operators, which must not reach users.
  public convenience init(
    store configuration: StoreConfiguration, limits: NotificationsLimits = NotificationsLimits(),
    retention: ChangeRetention = ChangeRetention(), actions: ActionLimits = ActionLimits(),
    pusher: (any DevicePushing)? = nil, alertCategory: String = NotificationsComponent.alertCategoryDefault,
    nowMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }, tracer: Tracer? = nil,
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws {
    try await self.init(
      store: configuration, limits: limits, retention: retention, sender: try actions.sender(nowMs: nowMs, log: log),
      pusher: pusher, alertCategory: alertCategory, nowMs: nowMs, random: random, tracer: tracer)
  }

  /// - Parameter sender: Sends the requests of actions.
  init(
    store configuration: StoreConfiguration, limits: NotificationsLimits, retention: ChangeRetention,
    sender: any HTTPActionSending, pusher: (any DevicePushing)? = nil,
    alertCategory: String = NotificationsComponent.alertCategoryDefault, nowMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64, tracer: Tracer? = nil
  ) async throws {
    let hub = WatchHub(limits: limits)
    let followers = WatchHub(limits: limits)
    let notifier = CommitNotifier(hub: hub, nowMs: nowMs)
    self.notifier = notifier
    var configuration = configuration
    configuration.onBegin = { notifier.begin(continues: $0) }
    configuration.beforeCommit = { try notifier.complete($0) }
    let (observer, signals) = (configuration.observer, [searchSignal, alertSignal, summarySignal])
    configuration.changedNames = { notifier.alarms.changedUsers }
    configuration.foreignObserver = { changes in
      notifier.alarms.committedElsewhere(changes)
      for signal in signals { signal.notify() }
      ChangedUsersWatch.notify(followers)
    }
    configuration.observer = { commit in
      notifier.committed(isKept: commit.failure == nil)
      for signal in signals { signal.notify() }
      ChangedUsersWatch.notify(followers)
      observer?(commit)
    }
    let store = try Store(configuration, migrations: NotificationsMigrations.all)
    self.store = store
    compactor = ChangeLogCompactor(store: store, retention: retention)
    do {
      let repository = try await SQLiteNotificationsRepository(
        store: store, limits: limits, notifier: notifier, clockMs: nowMs, random: random)
      let receiptSecret = try await SQLiteNotificationsRepository.receiptSecret(store, random: random)
      engagement = EngagementService(repository: repository, limits: limits, hub: hub, receiptSecret: receiptSecret)
      let runner = ActionRunner(repository: repository, sender: sender, random: random)
      automation = AutomationService(
        repository: SQLiteAutomationRepository(store: store, notifier: notifier, clockMs: nowMs, random: random),
        limits: limits, actions: runner)
      service = NotificationsService(repository: repository, limits: limits, hub: hub, actions: runner)
      sharing = SharingService(repository: repository, notifications: service)
      delivery = DeliveryService(repository: repository, limits: limits)
      transfer = TransferService(store: store, limits: limits, notifier: notifier, clockMs: nowMs)
      containers = ContainersService(store: store, limits: limits, epoch: repository.epoch, hub: followers)
      timers = NotificationTimerLoop(repository: repository, hub: hub, actions: runner)
      if let pusher {
        alerts = try await AlertFeed(
          repository, pusher, signal: alertSignal, category: alertCategory, receiptSecret: receiptSecret,
          tracer: tracer)
        summaries = SummaryRelay(
          repository: repository, pusher: pusher, environment: RelayEnvironment(nowMs: nowMs, tracer: tracer),
          signal: summarySignal)
      } else {
        (alerts, summaries) = (nil, nil)
      }
      // Index and merge what an earlier process left pending without waiting for a commit.
      searchSignal.notify()
    } catch {
      await store.close()
      throw error
    }
  }

  /// The services that a server registers.
  public var services: [any RPCService] { [service, sharing, automation, delivery, transfer, containers, engagement] }

  /// The number of open watches.
  public var watchCount: Int { service.watchCount }

  /// Runs the timers (schedules, releases, repeats, expiries, heartbeats, retries) until the task is cancelled.
  public func runTimers() async { await timers.run() }

  /// Sends alerts and unread summaries to the push service until the task is cancelled. Returns at once if none is
  /// configured.
  ///
  /// - Parameter log: Receives a message when alerts cannot be sent.
  public func runPushing(log: @escaping @Sendable (String) -> Void = { _ in }) async {
    guard let alerts, let summaries else { return }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await alerts.run(log: log) }
      group.addTask { await summaries.run() }
    }
  }

  /// Deletes expired changes and idempotent replies, in batches small enough not to block writers for long. Call about
  /// once a minute.
  ///
  /// - Returns: The number of deleted rows.
  @discardableResult
  public func maintain(nowMs: Int64) async throws -> Int {
    // Bounded: the next call deletes the rest.
    try await compactor.compact(nowMs: nowMs, batchesMax: 200) + store.purgeIdempotency(nowMs: nowMs)
      + applyRetention(nowMs: nowMs)
  }

  /// Applies the retention policies of the buckets, and purges what can no longer be restored or requested.
  private func applyRetention(nowMs: Int64) async throws -> Int {
    try await RetentionJob(store: store, notifier: notifier).run(nowMs: nowMs)
      + NotificationRetention(store: store, notifier: notifier).purge(nowMs: nowMs) + SearchWords.tidy(store)
  }

  /// Waits for the next commit, updates the search index and returns. Call in a loop; a search in the meantime indexes
  /// the missing notifications of its user itself.
  public func indexForSearch() async throws {
    try await searchSignal.wait()
    let joined = joinedSearch.withLock { $0 }
    let state = try await SearchIndexer(store: store).drain(joined: joined)
    joinedSearch.withLock { $0 = state }
  }

  /// Ends the watches with UNAVAILABLE, so that a drain does not have to wait for them.
  public func endWatches() {
    service.endWatches()
    containers.hub.close()
  }

  /// Ends the watches and closes the store.
  public func close() async {
    endWatches()
    await store.close()
  }
}
