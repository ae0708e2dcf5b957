import CampanileAPI
public import CampanileRPC
public import CampanileService
public import CampanileStore
import Synchronization

/// The services with the store below them, as an executable or a test runs them.
public final class NotificationsComponent: Sendable {
  public let service: NotificationsService
  public let sharing: SharingService
  public let automation: AutomationService
  public let delivery: DeliveryService
  /// Export and import.
  public let transfer: TransferService
  /// What is followed and read by the service that keeps files for devices.
  public let containers: ContainersService
  public let store: Store
  let timers: TimerLoop
  private let compactor: ChangeLogCompactor
  let board: CommitBoard
  /// Rung by every commit.
  private let searchBell = WatchBell()
  /// The state of the search index that is joined to its end; nil while an earlier process may have left some of that.
  private let joinedSearch = Mutex<SearchState?>(nil)
  private let alertBell = WatchBell()
  private let summaryBell = WatchBell()
  /// Nil while no pushing service is configured.
  let alerts: AlertFeed?
  let summaries: SummaryRelay?

  /// Opens the store (see `Store.init` for what it throws) and prepares the change log.
  ///
  /// `nowMs` is the wall clock in milliseconds since 1970, `random` a source of 64 random bits; `tracer` continues the traces of
  /// what is pushed.
  public convenience init(
    store configuration: StoreConfiguration, limits: NotificationsLimits = NotificationsLimits(),
    retention: ChangeRetention = ChangeRetention(), actions: ActionLimits = ActionLimits(),
    pusher: (any DevicePushing)? = nil, nowMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }, tracer: Tracer? = nil
  ) async throws {
    try await self.init(
      store: configuration, limits: limits, retention: retention, sender: try actions.sender(nowMs: nowMs),
      pusher: pusher, nowMs: nowMs, random: random, tracer: tracer)
  }

  /// `sender` makes the requests of actions.
  init(
    store configuration: StoreConfiguration, limits: NotificationsLimits, retention: ChangeRetention,
    sender: any HTTPActionSending, pusher: (any DevicePushing)? = nil, nowMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64, tracer: Tracer? = nil
  ) async throws {
    let hub = WatchHub(limits: limits)
    let followers = WatchHub(limits: limits)
    let board = CommitBoard(hub: hub, nowMs: nowMs)
    self.board = board
    var configuration = configuration
    configuration.onBegin = { board.begin() }
    configuration.beforeCommit = { try board.complete($0) }
    let (observer, bells) = (configuration.observer, [searchBell, alertBell, summaryBell])
    configuration.observer = { commit in
      board.committed()
      for bell in bells { bell.ring() }
      ChangedUsersWatch.ring(followers)
      observer?(commit)
    }
    let store = try Store(configuration, migrations: NotificationsMigrations.all)
    self.store = store
    compactor = ChangeLogCompactor(store: store, retention: retention)
    automation = AutomationService(store: store, limits: limits, board: board, clockMs: nowMs, random: random)
    do {
      let repository = try await SQLiteNotificationsRepository(
        store: store, limits: limits, board: board, clockMs: nowMs, random: random)
      let runner = ActionRunner(repository: repository, sender: sender, random: random)
      service = NotificationsService(repository: repository, limits: limits, hub: hub, actions: runner)
      sharing = SharingService(repository: repository, notifications: service)
      delivery = DeliveryService(repository: repository, limits: limits)
      transfer = TransferService(store: store, limits: limits, board: board, clockMs: nowMs)
      containers = ContainersService(store: store, epoch: repository.epoch, hub: followers)
      timers = TimerLoop(repository: repository, hub: hub) { runID, user in
        try await runner.retry(runID, user: user)
      }
      if let pusher {
        alerts = try await AlertFeed(repository, pusher, bell: alertBell, tracer: tracer)
        summaries = SummaryRelay(
          repository: repository, pusher: pusher, environment: RelayEnvironment(nowMs: nowMs, tracer: tracer),
          bell: summaryBell)
      } else {
        (alerts, summaries) = (nil, nil)
      }
      // What an earlier process has left to be indexed or joined does not wait for a commit.
      searchBell.ring()
    } catch {
      await store.close()
      throw error
    }
  }

  /// What a server offers to callers.
  public var services: [any RPCService] { [service, sharing, automation, delivery, transfer, containers] }

  /// Open watches.
  public var watchCount: Int { service.watchCount }

  /// Runs what is due at a time (schedules, releases, repeats, expiries, heartbeats, retries) until the task is cancelled.
  public func runTimers() async { await timers.run() }

  /// Tells the pushing service of alerts and unread summaries until the task is cancelled; without one it returns at once.
  /// `log` is told when alerts cannot be handed over.
  public func runPushing(log: @escaping @Sendable (String) -> Void = { _ in }) async {
    guard let alerts, let summaries else { return }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await alerts.run(log: log) }
      group.addTask { await summaries.run() }
    }
  }

  /// Drops changes and idempotent replies that are past their time, in small batches that never hold up writers for long.
  /// Answers how many rows went; call it about once a minute.
  @discardableResult
  public func maintain(nowMs: Int64) async throws -> Int {
    // Bounded: what is left over is for the next time.
    try await compactor.compact(nowMs: nowMs, batchesMax: 200) + store.purgeIdempotency(nowMs: nowMs)
      + applyRetention(nowMs: nowMs)
  }

  /// Deletes what the buckets' policies say, and drops what can no longer be restored or asked for.
  private func applyRetention(nowMs: Int64) async throws -> Int {
    try await RetentionJob(store: store, board: board).run(nowMs: nowMs)
      + ExpiredRows(store: store, board: board).purge(nowMs: nowMs) + SearchWords.tidy(store)
  }

  /// Waits for the next commit, brings the search index up to date and returns. To be called again and again; a search
  /// that comes between does by itself what is missing of its user's.
  public func indexForSearch() async throws {
    try await searchBell.wait()
    let joined = joinedSearch.withLock { $0 }
    let state = try await SearchIndexer(store: store).drain(joined: joined)
    joinedSearch.withLock { $0 = state }
  }

  /// Ends the watches with UNAVAILABLE, so that a drain does not wait for them.
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
