import CampanileAPI
public import CampanileBase
public import CampanileRPC
import CampanileService
public import CampanileStore
public import NIOCore

/// The Activities services with their store and push sender, for an executable or a test.
public final class ActivitiesComponent: Sendable {
  /// Clocks, randomness, logging and tracing; tests replace them.
  public struct Environment: Sendable {
    /// The wall clock in milliseconds since 1970.
    public var nowMs: @Sendable () -> Int64
    /// A monotonic clock in milliseconds.
    public var steadyMs: @Sendable () -> Int64
    public var random: @Sendable () -> UInt64
    /// Log sink for messages to the operator.
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
  /// Delivery results of pushes.
  public let pushes: PushDeliveryService
  public let signing: SigningService
  public let channels: BroadcastChannelsService
  public let groups: ActivityGroupsService
  public let widgets: WidgetsService
  public let store: Store
  let repository: SQLiteActivitiesRepository
  let timerLoop: TimerLoop<SQLiteActivitiesRepository>
  let delivery: RunningDelivery
  private let limits: ActivitiesLimits
  private let compactor: ChangeLogCompactor
  /// Nil unless a receiver of reports is configured.
  let reports: AlertReporter?

  /// Opens the store, loads the signing keys and prepares the sender on `group`.
  ///
  /// - Throws: The errors of `Store.init`.
  public convenience init(
    _ configuration: ActivitiesConfiguration, group: any EventLoopGroup, environment: Environment,
    reporter: (any DeliveryReporting)? = nil
  ) async throws {
    try await self.init(
      configuration, group: group, environment: environment, sender: nil, canSign: nil, reporter: reporter)
  }

  /// Creates the component with a test's `sender`, `canSign` and `checkChannel` in place of APNs and the signing keys.
  package init(
    _ configuration: ActivitiesConfiguration, group: any EventLoopGroup, environment: Environment,
    sender: (any PushSending)?, canSign: (@Sendable (String, String) -> Bool)?,
    checkChannel: (@Sendable (String, String, String) async throws -> Void)? = nil,
    reporter: (any DeliveryReporting)? = nil
  ) async throws {
    let limits = configuration.limits
    let hub = WatchHub(limits: limits)
    let notifier = AlarmSchedule(hub: hub)
    let delivery = PushDelivery(
      configuration.delivery, hub: hub,
      environment: .init(
        nowMs: environment.nowMs, steadyMs: environment.steadyMs, random: environment.random, log: environment.log,
        tracer: environment.tracer))
    let reportSignal = WakeSignal()
    let stateWriter = CoalescingStateWriter(
      pending: PendingUpdates(), queue: delivery.queue, notifier: notifier, clockMs: environment.nowMs)
    let store = try Store(
      Self.listening(configuration.store, stateWriter, delivery.notifier, reportSignal),
      migrations: ActivitiesMigrations.all)
    let policy = ActivitiesPolicy(
      environments: Set(configuration.delivery.endpoints.push.keys), contentDates: configuration.contentDates,
      canSign: canSign ?? { delivery.hasRoute(app: $0, environment: $1) },
      learnKeys: { try await AddedKeys(delivery: delivery, store: store).refresh() },
      criticalAlertApps: configuration.criticalAlertApps, reportsDeliveries: reporter != nil)
    do {
      let repository = try await SQLiteActivitiesRepository(
        store: store, limits: limits, policy: policy, stateWriter: stateWriter, random: environment.random)
      let running = try await delivery.start(
        store: store, registry: repository, listener: AlertReportListener(), group: group, sender: sender)
      self.delivery = running
      pushes = PushDeliveryService(
        store: store, clockMs: environment.nowMs, notifier: delivery.notifier, limits: limits)
      signing = SigningService(delivery: running, limits: limits)
      channels = BroadcastChannelsService(delivery: running, limits: limits)
      self.repository = repository
      activities = ActivitiesService(
        repository: repository, limits: limits, policy: policy, hub: hub,
        checkChannel: checkChannel ?? { app, environment, id in
          _ = try await ChannelDirectory(delivery: running).find(id, .init(app: app, environment: environment))
        })
      tokens = PushTokensService(repository: repository, limits: limits, policy: policy)
      timers = TimersService(repository: repository, policy: policy)
      rooms = RoomsService(repository: repository, policy: policy)
      groups = ActivityGroupsService(repository: repository, limits: limits)
      widgets = WidgetsService(repository: repository)
      unread = UnreadService(repository: repository, policy: policy)
      debugging = ActivityDebugService(repository: repository, policy: policy)
      timerLoop = TimerLoop(repository: repository)
    } catch {
      await store.close()
      throw error
    }
    self.store = store
    reports = reporter.map { AlertReporter(store: store, reporter: $0, signal: reportSignal, log: environment.log) }
    self.limits = limits
    compactor = ChangeLogCompactor(store: store, retention: configuration.retention)
  }

  /// Adds hooks that run at the start, before the commit and after the commit of every transaction.
  private static func listening(
    _ configuration: StoreConfiguration, _ stateWriter: CoalescingStateWriter, _ deliveryNotifier: DeliveryNotifier,
    _ reportSignal: WakeSignal
  ) -> StoreConfiguration {
    var configuration = configuration
    configuration.onBegin = { _ in
      stateWriter.pending.begin()
      stateWriter.notifier.begin()
      deliveryNotifier.begin()
    }
    configuration.beforeCommit = { transaction in
      try stateWriter.settle(transaction)
      try deliveryNotifier.complete(transaction)
      stateWriter.notifier.seal()
    }
    configuration.changedNames = {
      var names = stateWriter.notifier.changedUsers
      names.add(deliveryNotifier.changedNames, namesMax: .max)
      return names
    }
    configuration.foreignObserver = { changes in
      stateWriter.notifier.committedElsewhere(changes)
      deliveryNotifier.committedElsewhere(changes)
      reportSignal.notify()
    }
    let observer = configuration.observer
    configuration.observer = { commit in
      stateWriter.notifier.committed()
      deliveryNotifier.committed(isKept: commit.failure == nil)
      reportSignal.notify()
      observer?(commit)
    }
    return configuration
  }

  /// The services to register with an RPC server.
  public var services: [any RPCService] {
    [activities, tokens, timers, rooms, unread, debugging, pushes, signing, channels, groups, widgets]
  }

  /// Numbers of requests to APNs by response status and reason; the set of labels is bounded.
  public var apnsResults: [(status: String, reason: String, count: Int)] { delivery.dispatcher.outcomes.all }

  /// The number of states that were replaced by a newer one before they were sent.
  public var coalescedStates: Int { delivery.delivery.notifier.coalescedCount }

  /// The number of open watches.
  public var watchCount: Int { activities.watchCount }

  /// Runs due timers (starts, ends, expiries, timers and rooms) until the task is cancelled.
  public func runTimers() async { await timerLoop.run() }

  /// Reports delivery results until the task is cancelled; returns immediately if no receiver is configured.
  public func runReports() async { await reports?.run() }

  /// Runs one round of `runDelivery`.
  ///
  /// - Returns: The number of results settled plus the number of pushes taken.
  package func deliverOnce() async throws -> Int { try await delivery.dispatcher.round() }

  /// Follows what other processes on the database change in signing keys and in the queue, until the task is cancelled.
  /// Every process runs it. Returns at once on SQLite.
  public func runFollowing() async { await delivery.follow() }

  /// Sends pushes until the task is cancelled, and then waits up to 5 s for the responses to those in flight.
  public func runDelivery() async { await delivery.run() }

  /// Deletes expired rows in small batches that never block writers for long. Call it about once a minute.
  ///
  /// - Returns: The number of deleted rows.
  @discardableResult
  public func maintain(nowMs: Int64) async throws -> Int {
    // Bounded: the next call continues with the rest.
    try await compactor.compact(nowMs: nowMs, batchesMax: 200) + store.purgeIdempotency(nowMs: nowMs)
      + store.purgeInbox(seenBeforeMs: nowMs - ActivityRetention.alertRetentionMs)
      + ActivityRetention(store: store, limits: limits).purge(nowMs: nowMs) + delivery.maintain(nowMs: nowMs)
  }

  /// Ends the watches with UNAVAILABLE so that a drain does not wait for them.
  public func endWatches() { activities.endWatches() }

  /// Ends the watches, and closes the connections to APNs and the store. Call it after `runDelivery` has ended.
  public func close() async {
    endWatches()
    delivery.close()
    await store.close()
  }
}
