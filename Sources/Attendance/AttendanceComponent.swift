import CampanileAPI
public import CampanileCrypto
public import CampanileRPC
import CampanileService
public import CampanileStore

/// The services with the store below them, as an executable or a test runs them.
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

  /// Opens the store (see `Store.init` for what it throws) and prepares the lodge's settings.
  ///
  /// - Parameters:
  ///   - timeZone: the lodge's, taken by a new database; an IANA name.
  ///   - pinCost: what deriving a key from a PIN costs.
  ///   - nowMs: the wall clock in milliseconds since 1970.
  ///   - random: 64 random bits that nobody can guess.
  public init(
    store configuration: StoreConfiguration, limits: AttendanceLimits = AttendanceLimits(),
    lifetime: SessionLifetime = SessionLifetime(), timeZone: String = "Europe/Rome",
    pinCost: ScryptCost = .password, nowMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
  ) async throws {
    guard LodgeCalendar(timeZone) != nil else {
      throw RPCError.invalidField(
        "time-zone", "the machine does not know this time zone", reason: Reason.timeZoneUnknown.rawValue)
    }
    let hub = WatchHub(limits: limits)
    let board = CommitBoard(hub: hub)
    let heads = CommitHeads()
    var configuration = configuration
    configuration.onBegin = { heads.begin() }
    configuration.beforeCommit = { try heads.complete($0) }
    let observer = configuration.observer
    configuration.observer = { commit in
      board.committed()
      observer?(commit)
    }
    let hasher = try PinHasher(cost: pinCost)
    let codeKey = try SecureRandom.bytes(CheckInCode.keySizeBytes)
    let store = try Store(configuration, migrations: AttendanceMigrations.all)
    do {
      repository = try await SQLiteAttendanceRepository(
        store: store, limits: limits, board: board, heads: heads,
        initialSettings: LodgeRules.initial(timeZone: timeZone),
        codeKey: codeKey, clockMs: nowMs, random: random)
    } catch {
      await store.close()
      throw error
    }
    self.store = store
    self.hub = hub
    self.limits = limits
    let access = AccessControl(repository: repository)
    members = MembersService(repository: repository, access: access, limits: limits, hasher: hasher)
    meetings = MeetingsService(repository: repository, access: access, limits: limits)
    attendance = AttendanceService(repository: repository, access: access, limits: limits, hub: hub, board: board)
    statistics = StatisticsService(repository: repository, access: access, limits: limits)
    sessions = SessionsService(
      repository: repository, access: access, lifetime: lifetime, hasher: hasher,
      throttle: SessionsService.Throttle(LoginThrottle()))
    lodge = LodgeService(repository: repository, access: access, limits: limits)
  }

  /// What a server offers to callers.
  public var services: [any RPCService] { [members, meetings, attendance, statistics, sessions, lodge] }

  /// Open watches.
  public var watchCount: Int { hub.count }

  /// Drops what is past its time, in small commits: sessions, used codes, the news of old deletions, idempotent replies.
  /// Answers how many rows went; call it about once a minute.
  @discardableResult
  public func maintain(nowMs: Int64) async throws -> Int {
    try await repository.dropExpired(nowMs: nowMs)
      + repository.dropTombstones(beforeMs: nowMs - limits.tombstoneAgeMaxMs, rowsMax: 1_000)
      + store.purgeIdempotency(nowMs: nowMs)
  }

  /// Ends the watches with UNAVAILABLE, so that a drain does not wait for them.
  public func endWatches() { hub.close() }

  /// Ends the watches and closes the store.
  public func close() async {
    hub.close()
    await store.close()
  }
}
