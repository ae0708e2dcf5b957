public import CampanileClient

extension Campanile {
  public var sync: SyncClients { SyncClients(self) }
}

/// The clients of Sync.
public struct SyncClients: Sendable {
  private let campanile: Campanile
  init(_ campanile: Campanile) { self.campanile = campanile }

  public var assets: AssetsServiceClient { .init(campanile.caller) }
  public var zones: ZonesServiceClient { .init(campanile.caller) }
  public var devices: DevicesServiceClient { .init(campanile.caller) }

  /// Returns the commits of a zone.
  public func watchZone(
    _ request: WatchZoneChangesRequest
  ) -> Watch<WatchZoneChangesRequest, WatchZoneChangesResponse> {
    campanile.watch(ZonesServiceMethods.watchZoneChanges, request)
  }

  /// Returns the messages to a device.
  public func watchUpdates(_ request: WatchUpdatesRequest) -> Watch<WatchUpdatesRequest, WatchUpdatesResponse> {
    campanile.watch(DevicesServiceMethods.watchUpdates, request)
  }
}

extension WatchZoneChangesRequest: WatchRequest {}
extension WatchZoneChangesResponse: WatchResponse {
  public var kind: WatchResponseKind<ZoneChange> {
    switch event {
    case .started: .started
    case .change(let change): .change(change)
    case nil: .unknown
    }
  }
}

// The messages of a device have sequence numbers instead of tokens.
extension WatchUpdatesRequest: WatchRequest {
  public var resumeToken: String {
    get { afterSequence == 0 ? "" : String(afterSequence) }
    set { afterSequence = Int64(newValue) ?? 0 }
  }
}
extension WatchUpdatesResponse: WatchResponse {
  public var resumeToken: String { sequence == 0 ? "" : String(sequence) }
  public var kind: WatchResponseKind<SyncUpdate> {
    switch event {
    case .started: .started
    case .update(let update): .change(update)
    case nil: .unknown
    }
  }
}
