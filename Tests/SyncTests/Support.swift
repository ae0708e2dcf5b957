import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import FoundationEssentials
import Synchronization
import Testing

@testable import Sync

/// A component with a new folder and a clock that the test controls.
final class Fixture: Sendable {
  static let hourMs: Int64 = 3_600_000
  static let dayMs: Int64 = 24 * hourMs

  let directory: URL
  let nowMs = Atomic<Int64>(1_770_000_000_000)
  let limits: SyncLimits
  let packs: Bool

  init(_ limits: SyncLimits = SyncLimits(), packs: Bool = false) throws {
    self.limits = limits
    self.packs = packs
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("sync-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  var now: Int64 { nowMs.load(ordering: .relaxed) }
  func wait(_ ms: Int64) { nowMs.add(ms, ordering: .relaxed) }

  var contentsFolder: String { path("contents") }

  func path(_ name: String) -> String { directory.appendingPathComponent(name).path }

  /// Opens a component. Other values of `database` and `contents` open a backup.
  func open(
    link: (any NotificationsLinking)? = nil, database: String = "sync.sqlite", contents: String = "contents",
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws -> SyncComponent {
    var store = StoreConfiguration(path: path(database))
    store.durability = .normal
    var configuration = SyncConfiguration(store: store, contentsFolder: path(contents))
    configuration.limits = limits
    configuration.packsContents = packs
    return try await SyncComponent(configuration, link: link, nowMs: { self.now }, log: log)
  }

  /// Opens the component with anna's phone (a writer) and watch (a reader), runs `body` and closes it.
  func run(
    link: (any NotificationsLinking)? = nil, _ body: (SyncComponent) async throws -> Void
  ) async throws {
    let component = try await open(link: link)
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

  /// Returns the paths of the content files on disk.
  func contentFiles() throws -> [String] {
    let root = "\(contentsFolder)/contents"
    return try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.count > 3 }.map { "\(root)/\($0)" }
  }

  func uploadFiles() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(contentsFolder)/uploads")
  }
}

let anyMethod = MethodDescriptor(
  path: "campanile.sync.v1.AssetsService/Test", kind: .unary, idempotency: .unknown, requestType: "", responseType: "")

func user(_ id: String) -> CallContext {
  CallContext(method: anyMethod, principal: Principal(kind: .user, id: id))
}

let anna = user("anna")
let nobody = CallContext(method: anyMethod)

/// The error that `body` throws.
func failure<T>(_ body: () async throws -> T) async -> RPCError? {
  do {
    _ = try await body()
    return nil
  } catch let error as RPCError {
    return error
  } catch let error as any RPCErrorConvertible {
    return error.rpcError
  } catch {
    return RPCError(.internalError, "\(error)")
  }
}

/// Returns code and reason of the error that `body` throws, such as `NOT_FOUND ASSET_NOT_FOUND`; empty if there is
/// none.
func refusal<T>(_ body: () async throws -> T) async -> String {
  await failure(body).map { "\($0.code.name) \($0.reason)" } ?? ""
}

func hash(_ bytes: [UInt8]) throws -> String { try SHA256.digest(bytes).hexadecimal }

extension AssetPut {
  static func of(_ name: String, _ text: String, type: String = "Note") -> AssetPut {
    .with {
      $0.name = name
      $0.recordType = type
      $0.content = .inlineContent(Array(text.utf8))
    }
  }
}

extension SyncComponent {
  func register(_ id: String, _ role: DeviceRole, _ context: CallContext = anna) async throws {
    _ = try await devices.registerDevice(
      .with {
        $0.device = .with {
          $0.id = id
          $0.role = role
        }
      }, context: context)
  }

  @discardableResult
  func put(
    _ name: String, _ text: String, device: String = "phone", zone: String = "", _ context: CallContext = anna,
    _ change: (inout AssetPut) -> Void = { _ in }
  ) async throws -> PutAssetResponse {
    var put = AssetPut.of(name, text)
    change(&put)
    return try await assets.putAsset(
      .with {
        $0.zone = zone
        $0.deviceId = device
        $0.put = put
      }, context: context)
  }

  func text(_ name: String, version: Int64 = 0, _ context: CallContext = anna) async throws -> String {
    let response = try await assets.getAsset(
      .with {
        $0.name = name
        $0.version = version
        $0.includeContent = true
      }, context: context)
    return String(decoding: response.content, as: UTF8.self)
  }

  func list(_ context: CallContext = anna) async throws -> ListAssetsResponse {
    try await assets.listAssets(.init(), context: context)
  }

  func history(_ name: String, conflictsOnly: Bool = false) async throws -> [AssetVersion] {
    try await assets.listAssetVersions(
      .with {
        $0.name = name
        $0.conflictsOnly = conflictsOnly
      }, context: anna
    ).versions
  }

  func commit(_ changes: [AssetChange], device: String = "phone") async throws -> CommitAssetsResponse {
    try await assets.commitAssets(
      .with {
        $0.deviceId = device
        $0.changes = changes
      }, context: anna)
  }

  func changes(since token: String = "") async throws -> ListZoneChangesResponse {
    try await zones.listZoneChanges(.with { $0.resumeToken = token }, context: anna)
  }

  func publish(
    _ type: SyncUpdateType, _ entity: String = "", from device: String = "watch", mutation: String
  ) async throws -> PublishUpdateResponse {
    try await devices.publishUpdate(
      .with {
        $0.deviceId = device
        $0.mutationId = mutation
        $0.message = .with {
          $0.type = type
          $0.entityId = entity
          $0.timestamp = ProtoTimestamp(seconds: 1_770_000_000)
        }
      }, context: anna)
  }

  func updates(_ device: String, after sequence: Int64 = 0) async throws -> [SyncUpdate] {
    try await devices.listUpdates(
      .with {
        $0.deviceId = device
        $0.afterSequence = sequence
        $0.pageSize = 1_000
      }, context: anna
    ).updates
  }
}

extension WatchZoneChangesResponse {
  /// The revision in the response; nil for other events.
  var told: ZoneRevision? { if case .revision(let revision) = event { revision } else { nil } }
}
