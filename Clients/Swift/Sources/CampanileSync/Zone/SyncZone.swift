public import CampanileClient
public import Foundation

/// A device of the user, as Sync knows it.
public struct SyncDeviceConfiguration: Sendable, Hashable {
  /// 1 to 128 characters of `[A-Za-z0-9._:-]`, the same at every launch.
  public var id: String
  /// A phone writes files; a watch reads them and publishes messages instead.
  public var role: DeviceRole
  public var displayName: String

  public init(id: String, role: DeviceRole, displayName: String = "") {
    self.id = id
    self.role = role
    self.displayName = displayName
  }
}

/// A zone's files on a device, and the messages between the user's devices.
///
/// The device keeps the files, so that it can show them without a network. Safe from any thread; several processes may
/// share the folder.
public final class SyncZone: Sendable {
  public let zoneID: String
  public let device: SyncDeviceConfiguration
  let campanile: Campanile
  let outbox: Outbox
  let store: ZoneStore

  /// The size up to which a content fits inside a message.
  static let inlineBytesMax = 1024 * 1024

  /// - Parameters:
  ///   - zoneID: `ZentikSyncZone` exists for every user.
  ///   - folder: A folder of this user and zone, such as one in the container of the app group.
  public init(
    _ campanile: Campanile, zoneID: String = "ZentikSyncZone", device: SyncDeviceConfiguration, folder: URL,
    outbox: Outbox
  ) {
    self.campanile = campanile
    self.zoneID = zoneID
    self.device = device
    self.outbox = outbox
    store = ZoneStore(folder)
  }

  // MARK: Files

  /// Returns the records that the device has; `nil` before the first refresh, or if the file does not exist.
  public func stored<C: SyncContainer>(_ type: C.Type) throws(RPCError) -> C? {
    guard let content = try store.content(C.assetName) else { return nil }
    return try C(file: content)
  }

  /// Returns the bytes of an asset that the device has.
  public func storedContent(_ name: String) throws(RPCError) -> [UInt8]? { try store.content(name) }

  /// Fetches what has changed since the last refresh.
  ///
  /// - Returns: The names of the assets that have changed.
  @discardableResult
  public func refresh() async throws -> Set<String> {
    let token = try store.state().resumeToken
    do {
      return token.isEmpty ? try await fetchAll() : try await fetchChanges(after: token)
    } catch let error as RPCError where error.reason == "TOKEN_TOO_OLD" {
      return try await fetchAll()
    }
  }

  /// Follows the zone until the task is cancelled, or the server refuses the watch.
  ///
  /// - Parameter changed: Receives the names of the assets that have changed. Their contents are stored by then.
  public func follow(_ changed: (Set<String>) async throws -> Void) async throws {
    let names = try await refresh()
    if !names.isEmpty { try await changed(names) }
    let request = WatchZoneChangesRequest(zoneId: zoneID, resumeToken: try store.state().resumeToken)
    for try await event in campanile.sync.watchZone(request) {
      switch event {
      case .change, .gap:
        let names = try await refresh()
        if !names.isEmpty { try await changed(names) }
      case .started, .reached, .waiting: break
      }
    }
  }

  /// Writes a file. Records that another device has changed in the meantime are merged: the later `updatedAt` wins.
  ///
  /// - Returns: The file after the merge.
  @discardableResult
  public func put<C: SyncContainer>(_ container: C) async throws -> C {
    let content = try container.encoded()
    let base = try store.state().assets[C.assetName]?.etag ?? ""
    let response =
      content.count <= Self.inlineBytesMax
      ? try await campanile.sync.assets.putAsset(
        .init(
          zoneId: zoneID, deviceId: device.id,
          put: AssetPut(
            name: C.assetName, recordType: C.recordType, content: .inlineContent(content), baseEtag: base,
            onConflict: .merge)))
      : try await putLarge(container, content, base: base)
    guard let asset = response.asset else { return container }
    // Another process may have written in the meantime; the next refresh reads the newest version.
    let result = response.merged ? try await download(asset) : content
    try store.store(asset.name, result, .init(asset))
    return response.merged ? try C(file: result) : container
  }

  private func putLarge<C: SyncContainer>(
    _ container: C, _ content: [UInt8], base: String
  ) async throws -> PutAssetResponse {
    let request = ContentUpload.request(
      zoneID: zoneID, name: C.assetName, recordType: C.recordType, deviceID: device.id, base: base,
      sha256: SHA256.hash(content))
    return try PutAssetResponse(jsonUTF8: try await campanile.caller.content(request, body: content))
  }

  private func fetchAll() async throws -> Set<String> {
    var names: Set<String> = []
    var found: Set<String> = []
    var request = ListAssetsRequest(zoneId: zoneID, pageSize: 200)
    var token: String?
    repeat {
      let page = try await campanile.sync.assets.listAssets(request)
      token = token ?? page.resumeToken
      for asset in page.assets {
        found.insert(asset.name)
        if try await fetch(asset) { names.insert(asset.name) }
      }
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    for name in try store.state().assets.keys where !found.contains(name) {
      try store.remove(name)
      names.insert(name)
    }
    let resumeToken = token ?? ""
    try store.update { $0.resumeToken = resumeToken }
    return names
  }

  private func fetchChanges(after token: String) async throws -> Set<String> {
    var names: Set<String> = []
    var request = ListZoneChangesRequest(zoneId: zoneID, resumeToken: token)
    var hasMore = true
    while hasMore {
      let page = try await campanile.sync.zones.listZoneChanges(request)
      // Only the last change of an asset counts.
      var latest: [String: ChangedAsset] = [:]
      for changed in page.changes.flatMap(\.assets) { latest[changed.name] = changed }
      for (name, changed) in latest {
        switch changed.change {
        case .asset(let asset):
          if try await fetch(asset) { names.insert(name) }
        case .assetDeleted:
          try store.remove(name)
          names.insert(name)
        case nil: break
        }
      }
      request.resumeToken = page.resumeToken
      hasMore = page.hasMore
      let resumeToken = page.resumeToken
      try store.update { $0.resumeToken = resumeToken }
    }
    return names
  }

  /// Stores a version, unless the device has it or a newer one. Returns whether it was new.
  private func fetch(_ asset: Asset) async throws -> Bool {
    if let known = try store.state().assets[asset.name], known.version >= asset.version { return false }
    do {
      try store.store(asset.name, try await download(asset), .init(asset))
    } catch let error as RPCError where error.code == .notFound {
      // Deleted since: the deletion is among the next changes.
      return false
    }
    return true
  }

  private func download(_ asset: Asset) async throws -> [UInt8] {
    guard asset.sizeBytes <= Int64(Self.inlineBytesMax) else {
      return try await campanile.caller.content(
        .init(
          method: "GET", path: ContentUpload.path(zoneID, asset.name), query: [("version", String(asset.version))]))
    }
    return try await campanile.sync.assets.getAsset(
      .init(zoneId: zoneID, name: asset.name, version: asset.version, includeContent: true)
    ).content
  }
}

extension ZoneState.Stored {
  init(_ asset: Asset) { self.init(etag: asset.etag, version: asset.version, recordType: asset.recordType) }
}

extension ChangedAsset {
  fileprivate var name: String {
    switch change {
    case .asset(let asset): asset.name
    case .assetDeleted(let deleted): deleted.name
    case nil: ""
    }
  }
}
