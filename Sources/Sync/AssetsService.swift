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
  let contents: any ContentStore
  let documents: DocumentWorker
  let ids: SortableIDGenerator

  var limits: SyncLimits { repository.limits }

  public func getAsset(_ request: GetAssetRequest, context: CallContext) async throws -> GetAssetResponse {
    let user = try context.requireUser()
    let zone = try Violations.check { Self.zone(request, request.zoneId, request.name, &$0) }
    let version = try await repository.version(request.version, of: request.name, zone: zone, user: user)
    var response = GetAssetResponse(asset: version.asset(in: zone))
    if request.knownEtag == version.etag {
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
    var violations = Violations()
    request.validate(into: &violations)
    let zone = NameRules.zone(request.zoneId, &violations)
    try violations.check()
    let query = try PositionQuery(
      user: user, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["assets", zone], parts: 2,
      limits: limits)
    let page = try await repository.assets(query, zone: zone, user: user)
    let (assets, nextPageToken) = query.page(page.assets) { [$0.name, String(page.revision)] }
    return ListAssetsResponse(
      assets: assets, nextPageToken: nextPageToken, revision: page.revision, resumeToken: page.position.text(user: user)
    )
  }

  public func downloadAsset(
    _ request: DownloadAssetRequest, context: CallContext, responses: ResponseSink<DownloadAssetResponse>
  ) async throws {
    let user = try context.requireUser()
    let zone = try Violations.check { Self.zone(request, request.zoneId, request.name, &$0) }
    let version = try await repository.version(request.version, of: request.name, zone: zone, user: user)
    let digest = try Self.digest(of: version)
    if !request.sha256.isEmpty, NameRules.digest(request.sha256) != digest {
      throw RPCError(
        .aborted, "the content has changed since the download began", .contentChanged,
        errorMetadata: ["sha256": digest.hexadecimal],
        fieldViolations: [
          .init(field: "sha256", description: "belongs to another content", reason: Reason.contentChanged.rawValue)
        ])
    }
    guard request.offset <= version.sizeBytes else {
      throw RPCError.invalidField("offset", "must be 0 to \(version.sizeBytes)", .outOfRange)
    }
    try await Download(
      contents: contents, asset: version.asset(in: zone), digest: digest, packs: request.acceptEncoding == .gzip
    ).run(from: request.offset) { try await responses.send($0) }
  }

  public func listAssetVersions(
    _ request: ListAssetVersionsRequest, context: CallContext
  ) async throws -> ListAssetVersionsResponse {
    let user = try context.requireUser()
    let zone = try Violations.check { Self.zone(request, request.zoneId, request.name, &$0) }
    let query = try PositionQuery(
      user: user, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["versions", zone, request.name, request.conflictsOnly ? "1" : "0"], parts: 1, limits: limits)
    let found = try await repository.versions(query, of: request.name, zone: zone, conflictsOnly: request.conflictsOnly)
    let (versions, nextPageToken) = query.page(found) { [String($0.version)] }
    return ListAssetVersionsResponse(versions: versions.map { $0.entry(in: zone) }, nextPageToken: nextPageToken)
  }

  public func resolveAssetConflict(
    _ request: ResolveAssetConflictRequest, context: CallContext
  ) async throws -> ResolveAssetConflictResponse {
    let user = try context.requireUser(of: request.deviceId)
    let zone = try Violations.check { Self.zone(request, request.zoneId, request.name, device: request.deviceId, &$0) }
    try await repository.resolveConflict(
      request.version, of: request.name, zone: zone, device: request.deviceId, user: user)
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

  /// Validates a request about an asset, with the device if it changes something. Returns its zone.
  static func zone(
    _ request: some ValidatedMessage, _ zone: String, _ name: String, device: String = "",
    _ violations: inout Violations
  ) -> String {
    request.validate(into: &violations)
    NameRules.device(device, "deviceId", &violations)
    NameRules.asset(name, "name", &violations)
    return NameRules.zone(zone, &violations)
  }
}
