public import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
public import CampanileRPC
import CampanileService
import SyncContents

/// Serves `campanile.sync.v1.AssetsService`: JSON files with their versions.
public struct AssetsService: AssetsServiceProtocol {
  let repository: any SyncRepository
  let contents: ContentStore
  let documents: DocumentWorker
  let ids: SortableIDGenerator

  var limits: SyncLimits { repository.limits }

  public func getAsset(_ request: GetAssetRequest, context: CallContext) async throws -> GetAssetResponse {
    let user = try context.requireUser()
    let (zone, name) = try Self.place(request.zone, request.name, request.version)
    let version = try repository.version(request.version, of: name, zone: zone, user: user)
    var response = GetAssetResponse(asset: version.asset(in: zone))
    if request.ifNoneMatch == version.etag {
      response.notModified = true
      return response
    }
    guard request.includeContent else { return response }
    guard version.sizeBytes <= Int64(limits.inlineBytesMax) else {
      throw RPCError.refused(
        "includeContent", "the content has \(version.sizeBytes) bytes; download it", .contentTooLarge)
    }
    response.content = try await content(of: version)
    return response
  }

  public func listAssets(_ request: ListAssetsRequest, context: CallContext) async throws -> ListAssetsResponse {
    let user = try context.requireUser()
    let zone = try Violations.check { NameRules.zone(request.zone, &$0) }
    let query = try PositionQuery(
      user: user, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["assets", zone], parts: 2,
      limits: limits)
    let page = try repository.assets(query, zone: zone, user: user)
    let (assets, nextPageToken) = query.page(page.assets) { [$0.name, String(page.revision)] }
    return ListAssetsResponse(
      assets: assets, nextPageToken: nextPageToken, revision: page.revision, resumeToken: page.position.text(user: user)
    )
  }

  public func downloadAsset(
    _ request: DownloadAssetRequest, context: CallContext, responses: ResponseSink<DownloadAssetResponse>
  ) async throws {
    let user = try context.requireUser()
    let (zone, name) = try Self.place(request.zone, request.name, request.version)
    let version = try repository.version(request.version, of: name, zone: zone, user: user)
    let digest = try Self.digest(of: version)
    var violations = Violations()
    if !request.sha256.isEmpty, NameRules.hash(request.sha256, "sha256", &violations) != digest, violations.isEmpty {
      throw RPCError(
        .aborted, "the content has changed since the download began", .contentChanged,
        errorMetadata: ["sha256": digest.hexadecimal],
        fieldViolations: [
          .init(field: "sha256", description: "belongs to another content", reason: Reason.contentChanged.rawValue)
        ])
    }
    if !(0...version.sizeBytes).contains(request.offset) {
      violations.add("offset", "must be 0 to \(version.sizeBytes)", .outOfRange)
    }
    if request.acceptEncoding != .unspecified, request.acceptEncoding != .gzip {
      violations.add("acceptEncoding", "is unknown", .enumUnknown)
    }
    try violations.check()
    try await Download(
      contents: contents, asset: version.asset(in: zone), digest: digest, packs: request.acceptEncoding == .gzip
    ).run(from: request.offset) { try await responses.send($0) }
  }

  public func listAssetVersions(
    _ request: ListAssetVersionsRequest, context: CallContext
  ) async throws -> ListAssetVersionsResponse {
    let user = try context.requireUser()
    let (zone, name) = try Self.place(request.zone, request.name, 0)
    let query = try PositionQuery(
      user: user, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["versions", zone, name, request.conflictsOnly ? "1" : "0"], parts: 1, limits: limits)
    let found = try repository.versions(query, of: name, zone: zone, conflictsOnly: request.conflictsOnly)
    let (versions, nextPageToken) = query.page(found) { [String($0.asset?.version ?? 0)] }
    return ListAssetVersionsResponse(versions: versions, nextPageToken: nextPageToken)
  }

  public func resolveAssetConflict(
    _ request: ResolveAssetConflictRequest, context: CallContext
  ) async throws -> ResolveAssetConflictResponse {
    let user = try context.requireUser()
    let (zone, name) = try Self.place(request.zone, request.name, request.version, device: request.deviceId)
    try await repository.resolveConflict(
      request.version, of: name, zone: zone, device: request.deviceId, user: user)
    return ResolveAssetConflictResponse()
  }

  /// Returns the whole content of a version, verified.
  func content(of version: StoredVersion) async throws -> [UInt8] {
    let digest = try Self.digest(of: version)
    let (contents, sizeBytes) = (contents, version.sizeBytes)
    return try await contents.run { try contents.open(digest, sizeBytes: sizeBytes).all() }
  }

  static func digest(of version: StoredVersion) throws(RPCError) -> SHA256Digest {
    guard let digest = version.digest else {
      throw .refused("version", "is a deletion and has no content", .versionDeleted)
    }
    return digest
  }

  /// Validates the zone and asset of a request, and the device of a request that changes something.
  static func place(
    _ zone: String, _ name: String, _ version: Int64, device: String? = nil
  ) throws(RPCError) -> (zone: String, name: String) {
    var violations = Violations()
    let zone = NameRules.zone(zone, &violations)
    if let device { NameRules.device(device, "deviceId", &violations) }
    NameRules.asset(name, "name", &violations)
    if version < 0 { violations.add("version", "must not be negative", .outOfRange) }
    try violations.check()
    return (zone, name)
  }
}
