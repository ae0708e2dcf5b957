import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import FoundationEssentials
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Sync

/// A component with a new folder and a clock that the test controls.
final class Fixture: Sendable {
  static let hourMs: Int64 = 3_600_000
  static let dayMs: Int64 = 24 * hourMs

  let folder: TemporaryFolder
  let clock = TestClock()
  let limits: SyncLimits
  let packs: Bool
  /// The events of all components that were opened.
  let events = Mutex<[SyncEvent]>([])

  init(_ limits: SyncLimits = SyncLimits(), packs: Bool = false) throws {
    self.limits = limits
    self.packs = packs
    folder = try TemporaryFolder()
  }

  /// The outcomes of exports, in order.
  var exports: [ExportOutcome] {
    events.withLock { $0.compactMap { if case .export(let outcome) = $0 { outcome } else { nil } } }
  }

  /// The outcomes of pushes that wake devices, in order.
  var wakes: [WakeOutcome] {
    events.withLock { $0.compactMap { if case .wake(let outcome) = $0 { outcome } else { nil } } }
  }

  var contentsFolder: String { path("contents") }

  func path(_ name: String) -> String { folder.file(name) }

  /// Opens a component. Other values of `database` and `contents` open a backup.
  func open(
    link: (any NotificationsLinking)? = nil, wakeLink: (any DeviceWaking)? = nil, database: String = "sync.sqlite",
    contents: String = "contents", log: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws -> SyncComponent {
    var configuration = SyncConfiguration(
      store: try TestStore.configuration(path(database)), contentsFolder: path(contents))
    configuration.limits = limits
    configuration.packsContents = packs
    return try await SyncComponent(
      configuration, link: link, wakeLink: wakeLink, nowMs: { self.clock.nowMs }, log: log,
      events: { event in self.events.withLock { $0.append(event) } })
  }

  /// Opens the component with anna's phone (a writer) and watch (a reader), runs `body` and closes it.
  func run(
    link: (any NotificationsLinking)? = nil, wakeLink: (any DeviceWaking)? = nil,
    _ body: (SyncComponent) async throws -> Void
  ) async throws {
    let component = try await open(link: link, wakeLink: wakeLink)
    do {
      try await component.register("phone", .writer)
      try await component.register("watch", .reader)
      try await body(component)
    } catch {
      await component.close()
      throw error
    }
    await component.close()
  }

  /// Returns the paths of the content files on disk, or their names in the database.
  func contentFiles() throws -> [String] {
    if TestStore.usesPostgreSQL {
      return try TestStore.column(
        "name", of: "content_chunks", where: "number = 0 AND length(name) = 64", path("sync.sqlite"))
    }
    let root = "\(contentsFolder)/contents"
    return try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.count > 3 }.map { "\(root)/\($0)" }
  }

  func uploadFiles() throws -> [String] {
    if TestStore.usesPostgreSQL {
      return try TestStore.column(
        "name", of: "content_chunks", where: "number = 0 AND length(name) < 64", path("sync.sqlite"))
    }
    return try FileManager.default.contentsOfDirectory(atPath: "\(contentsFolder)/uploads")
  }
}

extension SyncComponent {
  /// The folder of contents of a component on SQLite.
  var contentFolder: ContentFolder {
    get throws { try #require(contents as? ContentFolder) }
  }

  /// Returns the bytes of a content's file of one chunk.
  func bytes(ofFile file: String) throws -> Data {
    guard TestStore.usesPostgreSQL else { return try Data(contentsOf: URL(fileURLWithPath: file)) }
    let bytes = try store.readSingleBlocking {
      try $0.queryOne("SELECT data FROM content_chunks WHERE name = $1", [.text(file)]) { try $0.bytes(0) }
    }
    return Data(try #require(bytes))
  }

  /// Replaces or removes a content's file.
  func replace(_ file: String, _ data: Data?) async throws {
    if TestStore.usesPostgreSQL {
      try await store.write { transaction in
        try transaction.execute("DELETE FROM content_chunks WHERE name = $1", [.text(file)])
        guard let data else { return }
        try transaction.execute(
          "INSERT INTO content_chunks (name, number, at_ms, data) VALUES ($1, 0, 0, $2)",
          [.text(file), .blob(Array(data))])
      }
    } else if let data {
      try data.write(to: URL(fileURLWithPath: file))
    } else {
      try FileManager.default.removeItem(atPath: file)
    }
  }
}

func hash(_ bytes: [UInt8]) throws -> String { try SHA256.digest(bytes).hexadecimal }

extension AssetPut {
  static func of(_ name: String, _ text: String, type: String = "Note") -> AssetPut {
    AssetPut(
      name: name, recordType: type, content: .inlineContent(Array(text.utf8)), onConflict: .lastWriteWins)
  }
}

extension SyncComponent {
  func register(_ id: String, _ role: DeviceRole, _ context: CallContext = anna) async throws {
    _ = try await devices.registerDevice(.init(device: SyncDevice(id: id, role: role)), context: context)
  }

  @discardableResult
  func put(
    _ name: String, _ text: String, device: String = "phone", zone: String = "", _ context: CallContext = anna,
    _ change: (inout AssetPut) -> Void = { _ in }
  ) async throws -> PutAssetResponse {
    var put = AssetPut.of(name, text)
    change(&put)
    return try await assets.putAsset(.init(zoneId: zone, deviceId: device, put: put), context: context)
  }

  func text(_ name: String, version: Int64 = 0, _ context: CallContext = anna) async throws -> String {
    let response = try await assets.getAsset(
      .init(name: name, version: version, includeContent: true), context: context)
    return String(decoding: response.content, as: UTF8.self)
  }

  func zone() async throws -> Zone {
    try await zones.getZone(.init(), context: anna).zone ?? Zone()
  }

  func list(_ context: CallContext = anna) async throws -> ListAssetsResponse {
    try await assets.listAssets(.init(), context: context)
  }

  func history(_ name: String, conflictsOnly: Bool = false) async throws -> [AssetVersion] {
    try await assets.listAssetVersions(.init(name: name, conflictsOnly: conflictsOnly), context: anna).versions
  }

  func commit(_ changes: [AssetChange], device: String = "phone") async throws -> CommitAssetsResponse {
    try await assets.commitAssets(.init(deviceId: device, changes: changes), context: anna)
  }

  /// Lists the changes after a token, or all retained ones.
  func changes(since token: String = "") async throws -> ListZoneChangesResponse {
    try await zones.listZoneChanges(.init(resumeToken: token, fromStart: true), context: anna)
  }

  func publish(
    _ type: SyncUpdateType, _ entity: String = "", from device: String = "watch", id: String
  ) async throws -> PublishUpdateResponse {
    try await devices.publishUpdate(
      .init(
        deviceId: device, requestId: id,
        message: SyncUpdateMessage(type: type, entityId: entity, eventTime: ProtoTimestamp(seconds: 1_770_000_000))),
      context: anna)
  }

  func updates(_ device: String, after sequence: Int64 = 0) async throws -> [SyncUpdate] {
    try await devices.listUpdates(.init(deviceId: device, afterSequence: sequence, pageSize: 1_000), context: anna)
      .updates
  }
}

extension WatchZoneChangesResponse {
  /// The change in the response; nil for other events.
  var told: ZoneChange? { if case .change(let change) = event { change } else { nil } }
}

extension AssetVersion {
  var asset: Asset? { if case .asset(let asset) = state { asset } else { nil } }
  var isDeleted: Bool { if case .assetDeleted = state { true } else { false } }
}

extension ChangedAsset {
  var isDeleted: Bool { if case .assetDeleted = change { true } else { false } }
  var name: String {
    switch change {
    case .asset(let asset): asset.name
    case .assetDeleted(let deleted): deleted.name
    case nil: ""
    }
  }
}
