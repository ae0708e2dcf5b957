import CampanileAPI
public import CampanileRPC
import CampanileService
public import CampanileStore
import Synchronization

/// How a component is set up beside its store and limits.
public struct SyncConfiguration: Sendable {
  public var store: StoreConfiguration
  /// Where the contents are; made where it is missing.
  public var contentsFolder: String
  public var limits = SyncLimits()
  /// Whether contents are kept packed with zlib: a fifth of the room for a quarter of the speed.
  public var packsContents = false
  /// How many notifications an exported file has, the newest.
  public var exportedNotificationsMax = 150

  public init(store: StoreConfiguration, contentsFolder: String) {
    self.store = store
    self.contentsFolder = contentsFolder
  }
}

/// The services with the store below them, as an executable or a test runs them.
public final class SyncComponent: Sendable {
  public let zones: ZonesService
  public let assets: AssetsService
  public let uploads: UploadsService
  public let devices: DevicesService
  public let store: Store
  let repository: SQLiteSyncRepository
  let contents: ContentStore
  private let documents: DocumentWorker
  private let hub: WatchHub
  private let board: UploadBoard
  private let sweptFolders = Atomic(0)
  /// Nil while no service of notifications is configured.
  let exporter: Exporter?
  let relay: UpdateRelay?

  /// Opens the store (see `Store.init` for what it throws) and the folder of the contents.
  ///
  /// - Parameters:
  ///   - link: the service that keeps notifications.
  ///   - nowMs: the wall clock in milliseconds since 1970.
  ///   - random: 64 random bits.
  ///   - tracer: continues the traces of what is told to the other service.
  ///   - log: something an operator should know.
  public init(
    _ configuration: SyncConfiguration, link: (any NotificationsLinking)? = nil,
    nowMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }, tracer: Tracer? = nil,
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws {
    let limits = configuration.limits
    let hub = WatchHub(limits: limits)
    let wake = WakeBoard(hub: hub)
    let relayBell = WatchBell()
    let store = try Store(
      Self.listening(configuration.store, wake, relayBell), migrations: SyncMigrations.all)
    do {
      contents = try ContentStore(folder: configuration.contentsFolder, packs: configuration.packsContents)
      repository = try await SQLiteSyncRepository(
        store: store, limits: limits, board: wake, appliesUpdates: link != nil, clockMs: nowMs, random: random)
      try await ContentJournal(store: store, contents: contents).replay()
    } catch {
      await store.close()
      throw error
    }
    self.store = store
    self.hub = hub
    documents = DocumentWorker(atOnceMax: limits.documentsAtOnceMax)
    board = UploadBoard()
    let ids = SortableIDGenerator(clockMs: nowMs, random: random)
    zones = ZonesService(repository: repository, hub: hub)
    let assets = AssetsService(repository: repository, contents: contents, documents: documents, ids: ids)
    self.assets = assets
    uploads = UploadsService(repository: repository, contents: contents, board: board, ids: ids)
    let exportBell = WatchBell()
    let queue = ExportQueue(store: store, nowMs: nowMs)
    let isExporting = link != nil
    devices = DevicesService(repository: repository, hub: hub) { user in
      guard isExporting else { return }
      try await queue.add([user], token: nil)
      exportBell.ring()
    }
    exporter = link.map { link in
      Exporter(
        queue: queue, link: link, assets: assets, notificationsMax: configuration.exportedNotificationsMax,
        nowMs: nowMs, bell: exportBell, log: log)
    }
    relay = link.map { link in
      UpdateRelay(
        store: store, link: link, environment: RelayEnvironment(nowMs: nowMs, tracer: tracer), bell: relayBell)
    }
  }

  /// Lets watches and the relay know of every commit.
  private static func listening(
    _ configuration: StoreConfiguration, _ wake: WakeBoard, _ relayBell: WatchBell
  ) -> StoreConfiguration {
    var configuration = configuration
    configuration.beforeCommit = { _ in wake.seal() }
    let observer = configuration.observer
    configuration.observer = { commit in
      wake.committed()
      relayBell.ring()
      observer?(commit)
    }
    return configuration
  }

  /// What a server offers to callers.
  public var services: [any RPCService] { [zones, assets, uploads, devices] }

  /// Open watches.
  public var watchCount: Int { hub.count }

  /// Keeps the files of notifications up to date and applies devices' messages until the task is cancelled; without a
  /// service of notifications it returns at once.
  public func runExchange() async {
    guard let exporter, let relay else { return }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await exporter.run() }
      group.addTask { await relay.run() }
    }
  }

  /// Drops what is past its time, in small batches that never hold up writers for long, and looks through a few folders for
  /// files without rows. Answers how many rows and files went; call it about once a minute.
  @discardableResult
  public func maintain(nowMs: Int64) async throws -> Int {
    let expired = ExpiredRows(store: store, limits: repository.limits, contents: contents, board: board)
    return try await expired.purge(nowMs: nowMs) + store.purgeIdempotency(nowMs: nowMs)
      + sweep(folders: 4, nowMs: nowMs)
  }

  /// Puts the files of small contents on the disk that were named since the last time; call it a few times a second.
  public func settleContents() async throws {
    try await ContentJournal(store: store, contents: contents).settle()
  }

  /// Looks through the next folders for files without rows.
  func sweep(folders: Int, nowMs: Int64) async throws -> Int {
    let sweep = OrphanSweep(store: store, contents: contents, graceMs: repository.limits.contentGraceMs)
    let first = sweptFolders.add(folders, ordering: .relaxed).oldValue
    return try await contents.run {
      try (first..<first + folders).reduce(0) { try $0 + sweep.run(folder: $1, nowMs: nowMs) }
    }
  }

  /// Ends the watches with UNAVAILABLE, so that a drain does not wait for them.
  public func endWatches() { hub.close() }

  /// Ends the watches and closes the store.
  public func close() async {
    hub.close()
    await contents.close()
    await documents.close()
    await store.close()
  }
}
