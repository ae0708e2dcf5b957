import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore

/// The repository over the embedded store. Reads run on the caller's thread, so that a handler never leaves its event
/// loop. Writes join the store's group commit.
struct SQLiteSyncRepository: SyncRepository, StoreBacked {
  /// The outbox topic of messages that change notifications.
  static let applyTopic = "apply-update"

  let store: Store
  let limits: SyncLimits
  let ids: SortableIDGenerator
  let clockMs: @Sendable () -> Int64
  let notifier: AlarmSchedule
  /// The id of this database in the tokens of clients that follow a zone.
  let epoch: UInt64
  /// Whether there is a notifications service: messages about notifications are applied to them, and they are exported.
  let isExporting: Bool
  /// Whether there is a push service, which wakes devices.
  let wakesDevices: Bool
  let events: @Sendable (SyncEvent) -> Void
  let presence: StorePresence

  /// Opens the repository. `random` provides the epoch of a new database, and random bits for ids.
  init(
    store: Store, limits: SyncLimits, notifier: AlarmSchedule, isExporting: Bool, wakesDevices: Bool,
    clockMs: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64,
    events: @escaping @Sendable (SyncEvent) -> Void
  ) async throws {
    self.store = store
    presence = StorePresence(store)
    self.limits = limits
    self.notifier = notifier
    self.isExporting = isExporting
    self.wakesDevices = wakesDevices
    self.events = events
    self.clockMs = clockMs
    ids = SortableIDGenerator(clockMs: clockMs, random: random)
    let candidate = random()
    epoch = try await store.write { try $0.logEpoch(in: "sync_meta", candidate: candidate) }
  }

  func requireWriter(_ device: String, user: String) async throws {
    try await readSingle { try Self.requireWriter(device, user: user, $0) }
  }

  static func requireWriter(_ device: String, user: String, _ transaction: ReadTransaction) throws {
    let role = try transaction.queryOne(DeviceRow.roleSQL, [.text(user), .text(device)]) { try $0.integer(0) }
    guard let role else { throw RPCError.deviceNotFound(device) }
    guard role == Int64(DeviceRole.writer.rawValue) else { throw RPCError.deviceReadOnly }
  }

  /// Returns the zone. A default zone without a row is empty and has number 0.
  static func zone(_ name: String, user: String, _ transaction: ReadTransaction) throws -> StoredZone {
    if let zone = try transaction.queryOne(ZoneRow.oneSQL, [.text(user), .text(name)], ZoneRow.zone) { return zone }
    guard name == NameRules.defaultZone else { throw RPCError.zoneNotFound(name) }
    return StoredZone(name: name, number: 0, createdAtMs: 0, updatedAtMs: 0)
  }

  /// Creates a zone and counts it for the user.
  func makeZone(
    _ name: String, user: String, _ counters: inout StoredUser, nowMs: Int64, _ transaction: WriteTransaction
  ) throws -> StoredZone {
    guard counters.zoneCount < Int64(limits.zonesPerUserMax) else {
      throw RPCError.exhausted(
        "a user may have \(limits.zonesPerUserMax) zones", .zonesExhausted, limit: limits.zonesPerUserMax)
    }
    let zone = StoredZone(
      name: name, number: try transaction.next("zone"), revision: counters.revisionFloor,
      compactedThrough: counters.revisionFloor, createdAtMs: nowMs, updatedAtMs: nowMs)
    try transaction.execute(ZoneRow.insertSQL, ZoneRow.inserting(zone, user: user))
    counters.zoneCount += 1
    return zone
  }
}
