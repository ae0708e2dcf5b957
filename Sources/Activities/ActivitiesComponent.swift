import CampanileAPI
public import CampanileRPC
import CampanileService
public import CampanileStore
public import NIOCore

/// The services with the store below them and the sender beside them, as an executable or a test runs them.
public final class ActivitiesComponent: Sendable {
  /// Time, chance and the log, which tests put their own in the place of.
  public struct Environment: Sendable {
    /// The wall clock in milliseconds since 1970.
    public var nowMs: @Sendable () -> Int64
    /// A clock that never jumps, in milliseconds.
    public var steadyMs: @Sendable () -> Int64
    public var random: @Sendable () -> UInt64
    /// Something an operator should know.
    public var log: @Sendable (String) -> Void
    /// Continues the traces of pushes.
    public var tracer: Tracer?

    public init(
      nowMs: @escaping @Sendable () -> Int64, steadyMs: @escaping @Sendable () -> Int64,
      random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) },
      log: @escaping @Sendable (String) -> Void = { _ in }, tracer: Tracer? = nil
    ) {
      self.tracer = tracer
      self.nowMs = nowMs
      self.steadyMs = steadyMs
      self.random = random
      self.log = log
    }
  }

  public let activities: ActivitiesService
  public let tokens: PushTokensService
  public let timers: TimersService
  public let rooms: RoomsService
  public let unread: UnreadService
  public let debugging: ActivityDebugService
  /// What became of pushes.
  public let pushes: PushDeliveryService
  public let signing: SigningService
  public let channels: BroadcastChannelsService
  public let store: Store
  let repository: SQLiteActivitiesRepository
  let timerLoop: TimerLoop
  let delivery: RunningDelivery
  private let limits: ActivitiesLimits
  private let compactor: ChangeLogCompactor
  /// Nil while nobody is configured to take reports.
  let reports: AlertReporter?

  /// Opens the store (see `Store.init` for what it throws), loads the signing keys and prepares the sender on `group`.
  public convenience init(
    _ configuration: ActivitiesConfiguration, group: any EventLoopGroup, environment: Environment,
    reporter: (any DeliveryReporting)? = nil
  ) async throws {
    try await self.init(
      configuration, group: group, environment: environment, sender: nil, canSign: nil, reporter: reporter)
  }

  /// `sender` and `canSign` are a test's instead of APNs and the signing keys.
  package init(
    _ configuration: ActivitiesConfiguration, group: any EventLoopGroup, environment: Environment,
    sender: (any PushSending)?, canSign: (@Sendable (String, String) -> Bool)?,
    reporter: (any DeliveryReporting)? = nil
  ) async throws {
    let limits = configuration.limits
    let hub = WatchHub(limits: limits)
    let board = WakeBoard(hub: hub)
    let delivery = PushDelivery(
      configuration.delivery,
      environment: .init(
        nowMs: environment.nowMs, steadyMs: environment.steadyMs, random: environment.random, log: environment.log,
        tracer: environment.tracer))
    let reportBell = WatchBell()
    let states = StateWriter(
      pending: PendingUpdates(), queue: delivery.queue, board: board, clockMs: environment.nowMs)
    let store = try Store(
      Self.listening(configuration.store, states, delivery.board, reportBell), migrations: ActivitiesMigrations.all)
    let policy = ActivitiesPolicy(
      environments: Set(configuration.delivery.endpoints.push.keys), contentDates: configuration.contentDates,
      canSign: canSign ?? { delivery.hasRoute(app: $0, environment: $1) }, reportsDeliveries: reporter != nil)
    do {
      let repository = try await SQLiteActivitiesRepository(
        store: store, limits: limits, policy: policy, states: states, random: environment.random)
      let running = try delivery.start(
        store: store, registry: repository, listener: AlertReportListener(), group: group, sender: sender)
      self.delivery = running
      pushes = PushDeliveryService(
        store: store, clockMs: environment.nowMs, board: delivery.board, limits: limits)
      signing = SigningService(delivery: running)
      channels = BroadcastChannelsService(delivery: running, caller: running.caller)
      self.repository = repository
      activities = ActivitiesService(repository: repository, limits: limits, policy: policy, hub: hub)
      tokens = PushTokensService(repository: repository, limits: limits, policy: policy)
      timers = TimersService(repository: repository, policy: policy)
      rooms = RoomsService(repository: repository, policy: policy)
      unread = UnreadService(repository: repository, policy: policy)
      debugging = ActivityDebugService(repository: repository, policy: policy)
      timerLoop = TimerLoop(repository: repository)
    } catch {
      await store.close()
      throw error
    }
    self.store = store
    reports = reporter.map { AlertReporter(store: store, reporter: $0, bell: reportBell, log: environment.log) }
    self.limits = limits
    compactor = ChangeLogCompactor(store: store, retention: configuration.retention)
  }

  /// Lets the boards know of every commit.
  private static func listening(
    _ configuration: StoreConfiguration, _ states: StateWriter, _ deliveryBoard: DeliveryBoard, _ reportBell: WatchBell
  ) -> StoreConfiguration {
    var configuration = configuration
    configuration.onBegin = {
      states.pending.begin()
      deliveryBoard.begin()
    }
    configuration.beforeCommit = { transaction in
      try states.settle(transaction)
      try deliveryBoard.complete(transaction)
      states.board.seal()
    }
    let observer = configuration.observer
    configuration.observer = { commit in
      states.board.committed()
      deliveryBoard.committed(isKept: commit.failure == nil)
      reportBell.ring()
      observer?(commit)
    }
    return configuration
  }

  /// What a server offers to callers.
  public var services: [any RPCService] {
    [activities, tokens, timers, rooms, unread, debugging, pushes, signing, channels]
  }

  /// Requests to APNs by the status and the reason of their answers; the labels are bounded.
  public var apnsResults: [(status: String, reason: String, count: Int)] { delivery.dispatcher.outcomes.all }

  /// States that a newer one has replaced before they were sent.
  public var coalescedStates: Int { delivery.delivery.board.coalescedCount }

  /// Open watches.
  public var watchCount: Int { activities.watchCount }

  /// Runs what is due at a time (starts, ends, expiries, timers and rooms) until the task is cancelled.
  public func runTimers() async { await timerLoop.run() }

  /// Tells what became of pushes until the task is cancelled; without anybody to tell it returns at once.
  public func runReports() async { await reports?.run() }

  /// One round of what `runDelivery` repeats. Answers how many results were settled and pushes taken.
  package func deliverOnce() async throws -> Int { try await delivery.dispatcher.round() }

  /// Sends pushes until the task is cancelled.
  public func runDelivery() async { await delivery.run() }

  /// Drops what is past its time, in small batches that never hold up writers for long. Answers how many rows went; call it
  /// about once a minute.
  @discardableResult
  public func maintain(nowMs: Int64) async throws -> Int {
    // Bounded: what is left over is for the next time.
    try await compactor.compact(nowMs: nowMs, batchesMax: 200) + store.purgeIdempotency(nowMs: nowMs)
      + store.purgeInbox(seenBeforeMs: nowMs - ExpiredRows.alertsKeptMs)
      + ExpiredRows(store: store, limits: limits).purge(nowMs: nowMs) + delivery.maintain(nowMs: nowMs)
  }

  /// Ends the watches with UNAVAILABLE, so that a drain does not wait for them.
  public func endWatches() { activities.endWatches() }

  /// Ends the watches, waits for the answers to pushes that are under way, and closes the store.
  public func close(drainTimeoutMs: Int64 = 5_000) async {
    activities.endWatches()
    await delivery.finish(timeoutMs: drainTimeoutMs)
    await store.close()
  }
}
