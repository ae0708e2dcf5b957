import CampanileAPI
public import CampanileBase
import CampanileCodec
public import CampanileCrypto
public import CampanileRPC
import CampanileService
public import CampanileStore

/// The Attendance services and their store, as run by an executable or a test.
public final class AttendanceComponent: Sendable {
  public let members: MembersService
  public let meetings: MeetingsService
  public let attendance: AttendanceService
  public let statistics: StatisticsService
  public let sessions: SessionsService
  public let lodge: LodgeService
  public let store: Store
  private let hub: WatchHub
  private let repository: SQLiteAttendanceRepository
  private let limits: AttendanceLimits
  /// Nil if no notifications service is configured.
  let noticeSchedule: NoticeSchedule?
  let noticeRelay: NoticeRelay?
  /// Nil if no push service is configured.
  let widgetReloader: WidgetReloader?

  /// Opens the store (see `Store.init` for the errors it throws) and stores initial lodge settings in a new database.
  ///
  /// - Parameters:
  ///   - timeZone: The lodge's time zone in a new database; an IANA name.
  ///   - pinCost: The cost of deriving a key from a PIN.
  ///   - notices: The notifications service; nil disables notices.
  ///   - widgets: The push service, which reloads the members' widgets; nil disables it.
  ///   - nowMs: The wall clock in milliseconds since 1970.
  ///   - random: A source of 64 unpredictable random bits.
  ///   - tracer: Continues the traces of notices.
  public init(
    store configuration: StoreConfiguration, limits: AttendanceLimits = AttendanceLimits(),
    lifetime: SessionLifetime = SessionLifetime(), timeZone: String = "Europe/Rome",
    pinCost: ScryptCost = .password, notices: (any NoticeSending)? = nil,
    widgets: (any WidgetReloading)? = nil, nowMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }, tracer: Tracer? = nil
  ) async throws {
    guard LodgeCalendar(timeZone) != nil else {
      throw RPCError.invalidField("time-zone", "this time zone is unknown on this machine", .timeZoneUnknown)
    }
    let hub = WatchHub(limits: limits)
    let notifier = RosterNotifier(hub: hub)
    let heads = CommitHeads()
    let noticeSignal = notices == nil ? nil : CommitSignal()
    let widgetSignal = widgets == nil ? nil : CommitSignal()
    var configuration = configuration
    configuration.onBegin = { _ in heads.begin() }
    configuration.beforeCommit = { try heads.complete($0) }
    configuration.changedNames = { notifier.changedMembers }
    configuration.foreignObserver = { changes in
      notifier.committedElsewhere(changes)
      noticeSignal?.signal.notify()
      widgetSignal?.signal.notify()
    }
    let observer = configuration.observer
    configuration.observer = { commit in
      notifier.committed()
      noticeSignal?.committed()
      widgetSignal?.committed()
      observer?(commit)
    }
    let hasher = try PinHasher(cost: pinCost)
    let codeKey = try SecureRandom.bytes(CheckInCode.keySizeBytes)
    let store = try Store(configuration, migrations: AttendanceMigrations.all)
    do {
      repository = try await SQLiteAttendanceRepository(
        store: store, limits: limits, notifier: notifier, heads: heads, noticeSignal: noticeSignal,
        widgetSignal: widgetSignal,
        initialSettings: LodgeRules.initial(timeZone: timeZone), codeKey: codeKey, clockMs: nowMs, random: random)
    } catch {
      await store.close()
      throw error
    }
    self.store = store
    self.hub = hub
    self.limits = limits
    if let notices, let noticeSignal {
      let relay = NoticeRelay(
        repository: repository, sender: notices, environment: RelayEnvironment(nowMs: nowMs, tracer: tracer))
      noticeRelay = relay
      noticeSchedule = NoticeSchedule(repository: repository, noticeSignal: noticeSignal) { relay.wake() }
    } else {
      (noticeRelay, noticeSchedule) = (nil, nil)
    }
    widgetReloader =
      if let widgets, let widgetSignal {
        WidgetReloader(repository: repository, sender: widgets, signal: widgetSignal.signal)
      } else { nil }
    let access = AccessControl(repository: repository)
    members = MembersService(repository: repository, access: access, limits: limits, hasher: hasher)
    meetings = MeetingsService(repository: repository, access: access, limits: limits)
    attendance = AttendanceService(repository: repository, access: access, limits: limits, hub: hub, notifier: notifier)
    statistics = StatisticsService(repository: repository, access: access, limits: limits)
    sessions = SessionsService(
      repository: repository, access: access, limits: limits, lifetime: lifetime,
      gate: LoginGate(repository: repository, hasher: hasher, state: LoginGate.State()))
    lodge = LodgeService(repository: repository, access: access, limits: limits)
  }

  /// The RPC services to register with a server.
  public var services: [any RPCService] { [members, meetings, attendance, statistics, sessions, lodge] }

  /// The number of failed logins since the start, by outcome.
  public var loginFailures: [(outcome: String, total: Int)] {
    LoginGate.Outcome.allCases.map { ($0.rawValue, sessions.gate.failures($0)) }
  }

  /// The number of members whose PIN no longer logs in from unknown devices until an administrator sets a new one.
  public func lockedMemberCount() async -> Int { (try? await repository.lockedMemberCount()) ?? 0 }

  /// The number of open watches.
  public var watchCount: Int { hub.count }

  /// Sends the notices to members and reloads their widgets until the task is cancelled. Returns at once if neither a
  /// notifications service nor a push service is configured.
  ///
  /// - Parameter log: Receives a message if notices cannot be scheduled, or widgets cannot be reloaded.
  public func runNotices(log: @escaping @Sendable (String) -> Void = { _ in }) async {
    await withTaskGroup(of: Void.self) { group in
      if let noticeSchedule { group.addTask { await noticeSchedule.run(log: log) } }
      if let noticeRelay { group.addTask { await noticeRelay.run() } }
      if let widgetReloader { group.addTask { await widgetReloader.run(log: log) } }
    }
  }

  /// Deletes expired rows in small commits: sessions, device tokens, surplus login records, used check-in codes,
  /// tombstones, rejected notices and idempotent replies. Call about once a minute.
  ///
  /// - Returns: The number of deleted rows.
  @discardableResult
  public func maintain(nowMs: Int64) async throws -> Int {
    try await AttendanceRetention(store: store, limits: limits).purge(nowMs: nowMs)
      + store.purgeIdempotency(nowMs: nowMs)
      + store.purgeDeadLetters(createdBeforeMs: nowMs - AttendanceRetention.rejectedNoticeMs)
  }

  /// Ends the watches with UNAVAILABLE, because a drain would otherwise wait for them.
  public func endWatches() { hub.close() }

  /// Ends the watches and closes the store.
  public func close() async {
    hub.close()
    await store.close()
  }
}
