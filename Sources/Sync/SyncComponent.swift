import CampanileAPI
public import CampanileBase
public import CampanileRPC
import CampanileService
public import CampanileStore
import Synchronization

/// The Sync services and their store, as run by an executable or a test.
public final class SyncComponent: Sendable {
  public let zones: ZonesService
  public let assets: AssetsService
  public let uploads: UploadsService
  public let devices: DevicesService
  public let store: Store
  let repository: SQLiteSyncRepository
  let contents: any ContentStore
  private let documents: DocumentWorker
  private let hub: WatchHub
  private let uploadTable: OpenUploadTable
  private let awake: AwakeDevices
  private let purgedFolders = Atomic(0)
  /// Nil if no notifications service is configured.
  let exporter: Exporter?
  let relay: UpdateRelay?
  /// Nil if no push service is configured.
  let waker: WakeDispatcher?

  /// Opens the store (see `Store.init` for the errors it throws) and, unless it is on a server, the contents folder.
  ///
  /// - Parameters:
  ///   - link: The service that stores notifications.
  ///   - wakeLink: The service that pushes to devices.
  ///   - nowMs: The wall clock in milliseconds since 1970.
  ///   - random: A source of 64 random bits.
  ///   - tracer: Continues the traces of messages to the other service.
  ///   - log: Receives events that an operator should know about.
  ///   - events: Receives events for metrics, on any thread.
  public init(
    _ configuration: SyncConfiguration, link: (any NotificationsLinking)? = nil,
    wakeLink: (any DeviceWaking)? = nil,
    nowMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }, tracer: Tracer? = nil,
    log: @escaping @Sendable (String) -> Void = { _ in }, events: @escaping @Sendable (SyncEvent) -> Void = { _ in }
  ) async throws {
    let limits = configuration.limits
    let hub = WatchHub(limits: limits)
    let alarms = AlarmSchedule(hub: hub)
    let (relaySignal, exportSignal) = (WakeSignal(), WakeSignal())
    let store = try Store(
      Self.listening(configuration.store, alarms, relaySignal, exportSignal), migrations: SyncMigrations.all)
    do {
      let packs = configuration.packsContents
      contents =
        switch store.dialect {
        case .sqlite: try ContentFolder(configuration.contentsFolder, packs: packs, store: store)
        case .postgreSQL: ContentChunks(store, packs: packs, nowMs: nowMs)
        }
      repository = try await SQLiteSyncRepository(
        store: store, limits: limits, notifier: alarms, isExporting: link != nil, wakesDevices: wakeLink != nil,
        clockMs: nowMs, random: random, events: events)
      try await contents.prepare()
    } catch {
      await store.close()
      throw error
    }
    self.store = store
    self.hub = hub
    documents = DocumentWorker(atOnceMax: limits.documentsAtOnceMax)
    uploadTable = OpenUploadTable()
    let ids = SortableIDGenerator(clockMs: nowMs, random: random)
    let assets = AssetsService(repository: repository, contents: contents, documents: documents, ids: ids)
    self.assets = assets
    uploads = UploadsService(repository: repository, contents: contents, uploadTable: uploadTable, ids: ids)
    let queue = ExportQueue(store: store, alarms: alarms, nowMs: nowMs)
    let isExporting = link != nil
    let wantsExport: @Sendable (String) async throws -> Void = { user in
      guard isExporting else { return }
      try await queue.add([user], token: nil)
      exportSignal.notify()
    }
    let awake = AwakeDevices(store, process: repository.presence.name, isUsed: wakeLink != nil)
    self.awake = awake
    zones = ZonesService(repository: repository, hub: hub, awake: awake, wantsExport: wantsExport)
    devices = DevicesService(repository: repository, hub: hub, awake: awake, wantsExport: wantsExport)
    exporter = link.map { link in
      Exporter(
        queue: queue, link: link, assets: assets, notificationsMax: configuration.exportedNotificationsMax,
        nowMs: nowMs, signal: exportSignal, log: log, events: events)
    }
    waker = wakeLink.map { link in
      WakeDispatcher(store: store, link: link, awake: awake, alarms: alarms, nowMs: nowMs, log: log, events: events)
    }
    relay = link.map { link in
      UpdateRelay(
        store: store, link: link, environment: RelayEnvironment(nowMs: nowMs, tracer: tracer), signal: relaySignal)
    }
  }

  /// Returns a store configuration that wakes watches and the relay after every commit.
  private static func listening(
    _ configuration: StoreConfiguration, _ alarms: AlarmSchedule, _ relaySignal: WakeSignal,
    _ exportSignal: WakeSignal
  ) -> StoreConfiguration {
    var configuration = configuration
    configuration.beforeCommit = { _ in alarms.seal() }
    configuration.changedNames = { alarms.changedUsers }
    configuration.foreignObserver = { changes in
      alarms.committedElsewhere(changes)
      relaySignal.notify()
      exportSignal.notify()
    }
    let observer = configuration.observer
    configuration.observer = { commit in
      alarms.committed()
      relaySignal.notify()
      observer?(commit)
    }
    return configuration
  }

  /// The RPC services to register with a server.
  public var services: [any RPCService] { [zones, assets, uploads, devices] }

  /// The number of open watches.
  public var watchCount: Int { hub.count }

  /// Exports notifications, applies devices' messages and wakes devices until the task is cancelled. Returns at once if
  /// no other service is configured.
  public func runExchange() async {
    await withTaskGroup(of: Void.self) { group in
      if let exporter { group.addTask { await exporter.run() } }
      if let relay { group.addTask { await relay.run() } }
      if let waker { group.addTask { await waker.run() } }
    }
  }

  /// Shows the other processes on the database that this one is alive, until the task is cancelled. Every process runs
  /// it. Returns at once on SQLite.
  public func runPresence() async { await repository.presence.run() }

  /// Deletes expired data in small commits that do not block writers for long, and files without rows in a few
  /// folders. Call about once a minute.
  ///
  /// - Returns: The approximate number of deleted rows and files.
  @discardableResult
  public func maintain(nowMs: Int64) async throws -> Int {
    try await repository.presence.purge()
    try await awake.purge()
    let expired = SyncRetention(store: store, limits: repository.limits, contents: contents, uploadTable: uploadTable)
    return try await expired.purge(nowMs: nowMs) + store.purgeIdempotency(nowMs: nowMs)
      + purgeOrphans(folders: 4, nowMs: nowMs)
  }

  /// Syncs the files of small contents referenced since the last call. Call a few times a second.
  public func settleContents() async throws { try await contents.settle() }

  /// Deletes the files without rows in the next folders.
  func purgeOrphans(folders: Int, nowMs: Int64) async throws -> Int {
    let (contents, beforeMs) = (contents, nowMs - repository.limits.contentGraceMs)
    let first = purgedFolders.add(folders, ordering: .relaxed).oldValue
    return try await contents.run {
      try (first..<first + folders).reduce(0) { try $0 + contents.purgeOrphans(part: $1, beforeMs: beforeMs) }
    }
  }

  /// Ends the watches with UNAVAILABLE, because a drain would otherwise wait for them.
  public func endWatches() { hub.close() }

  /// Ends the watches and closes the store.
  public func close() async {
    hub.close()
    await contents.close()
    await documents.close()
    await store.close()
  }
}
