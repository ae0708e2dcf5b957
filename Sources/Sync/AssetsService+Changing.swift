public import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
public import CampanileRPC
import CampanileService

extension AssetsService {
  public func putAsset(_ request: PutAssetRequest, context: CallContext) async throws -> PutAssetResponse {
    let user = try context.requireUser(of: request.deviceId)
    var violations = Violations()
    request.validate(into: &violations)
    let zone = NameRules.zone(request.zoneId, &violations)
    NameRules.device(request.deviceId, "deviceId", &violations)
    let changes = request.put.map { [ChangeRules.change($0, "put.", limits, &violations)] } ?? []
    try violations.check()
    let reply = try await commit(
      zone: zone, device: request.deviceId, changes, user: user,
      idempotency: try IdempotentRequest(
        request, id: \.requestId, method: AssetsServiceMethods.putAsset, user: user))
    guard let result = reply.results.first else { throw RPCError(.internalError, "the commit has no result") }
    return PutAssetResponse(
      asset: result.asset, conflict: result.conflict, merged: result.merged, duplicateNames: result.duplicateNames,
      storage: reply.storage, userStorage: reply.userStorage, exportEnded: reply.exportEnded)
  }

  public func commitAssets(
    _ request: CommitAssetsRequest, context: CallContext
  ) async throws -> CommitAssetsResponse {
    let user = try context.requireUser(of: request.deviceId)
    var violations = Violations()
    request.validate(into: &violations)
    let zone = NameRules.zone(request.zoneId, &violations)
    NameRules.device(request.deviceId, "deviceId", &violations)
    let changes = ChangeRules.changes(request.changes, zone: zone, limits, &violations)
    try violations.check()
    return try await commit(
      zone: zone, device: request.deviceId, changes, user: user,
      idempotency: try IdempotentRequest(
        request, id: \.requestId, method: AssetsServiceMethods.commitAssets, user: user))
  }

  public func deleteAsset(_ request: DeleteAssetRequest, context: CallContext) async throws -> DeleteAssetResponse {
    let user = try context.requireUser(of: request.deviceId)
    let zone = try Violations.check { Self.zone(request, request.zoneId, request.name, device: request.deviceId, &$0) }
    let reply = try await repository.commit(
      CommitDraft(
        zone: zone, device: request.deviceId,
        changes: [ChangeDraft(name: request.name, etag: request.etag, path: "")]),
      user: user,
      idempotency: try IdempotentRequest(
        request, id: \.requestId, method: AssetsServiceMethods.deleteAsset, user: user))
    return DeleteAssetResponse(revision: reply.revision)
  }

  public func restoreAssetVersion(
    _ request: RestoreAssetVersionRequest, context: CallContext
  ) async throws -> RestoreAssetVersionResponse {
    let user = try context.requireUser(of: request.deviceId)
    let zone = try Violations.check { Self.zone(request, request.zoneId, request.name, device: request.deviceId, &$0) }
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AssetsServiceMethods.restoreAssetVersion, user: user)
    // The old version may have been deleted since the first response.
    if let reply = try await repository.storedCommit(idempotency) {
      return RestoreAssetVersionResponse(asset: reply.results.first?.asset)
    }
    let old = try await repository.version(request.version, of: request.name, zone: zone, user: user)
    let digest = try Self.digest(of: old)
    var put = PutDraft(
      recordType: old.recordType, syncTimeMs: old.syncTimeMs,
      recordCount: ContentCheck.isContainer(old.recordType) ? 0 : old.recordCount, content: .known(digest))
    // A client that restores an old version has seen the version that it replaces.
    put.followsCurrent = true
    let reply = try await repository.commit(
      CommitDraft(
        zone: zone, device: request.deviceId,
        changes: [ChangeDraft(name: request.name, etag: request.etag, put: put, path: "")]),
      user: user, idempotency: idempotency)
    return RestoreAssetVersionResponse(asset: reply.results.first?.asset)
  }

  /// Commits the changes of a device.
  func commit(
    zone: String, device: String, _ changes: [ChangeDraft], user: String, idempotency: IdempotentRequest?
  ) async throws -> CommitAssetsResponse {
    try await repository.requireWriter(device, user: user)
    // These changes read an upload or a version before the commit, which the first commit may have consumed.
    if changes.contains(where: { $0.put?.readsStored == true }),
      let reply = try await repository.storedCommit(idempotency)
    {
      return reply
    }
    var draft = CommitDraft(zone: zone, device: device, changes: changes)
    if changes.contains(where: { $0.put?.isMerge == true }) {
      return try await mergeAndCommit(draft, user: user, idempotency: idempotency)
    }
    return try await storeAndCommit(&draft, user: user, idempotency: idempotency)
  }

  /// Repeats a merge if another device commits between its read and its commit.
  private func mergeAndCommit(
    _ draft: CommitDraft, user: String, idempotency: IdempotentRequest?
  ) async throws -> CommitAssetsResponse {
    for _ in 0..<8 {
      var attempt = draft
      do {
        return try await storeAndCommit(&attempt, user: user, idempotency: idempotency)
      } catch let error as RPCError
        where error.reason == Reason.etagMismatch.rawValue
        && attempt.changes.contains(where: { $0.put?.isMerged == true })
      { continue }
    }
    throw RPCError(.aborted, "the asset changes too often to be merged; try again", .commitContended, retryAfterMs: 100)
  }

  /// Stores the contents of a commit and commits it. Removes the contents again if the commit fails.
  ///
  /// - Parameter draft: Its inline contents and those to merge become stored ones.
  @discardableResult
  func storeAndCommit(
    _ draft: inout CommitDraft, user: String, idempotency: IdempotentRequest?
  ) async throws -> CommitAssetsResponse {
    var stored: [ContentSummary] = []
    let reply: CommitAssetsResponse
    do {
      for index in draft.changes.indices {
        let change = draft.changes[index]
        guard let put = change.put else { continue }
        if put.isMerge, let merged = try await merged(change, put, zone: draft.zone, user: user) {
          draft.changes[index] = merged
        } else if case .inline(let content) = put.content {
          let recordType = try await recordType(of: put, change, draft.zone, user)
          let summary = try await store(content, recordType: recordType, put.isStrict, change.path)
          draft.changes[index].put?.content = .stored(summary)
        }
        if case .stored(let summary)? = draft.changes[index].put?.content { stored.append(summary) }
      }
      reply = try await repository.commit(draft, user: user, idempotency: idempotency)
    } catch {
      let contents = contents
      try? await contents.run { [stored] in contents.drop(stored) }
      throw error
    }
    contents.keep(stored)
    return reply
  }

  /// Returns the record type of a put: its own, or that of the current asset.
  private func recordType(
    of put: PutDraft, _ change: ChangeDraft, _ zone: String, _ user: String
  ) async throws -> String {
    guard put.recordType.isEmpty else { return put.recordType }
    do {
      return try await repository.version(0, of: change.name, zone: zone, user: user).recordType
    } catch let error as RPCError where error.code == .notFound {
      throw RPCError.invalidField("\(change.path)recordType", "must be given for a new asset", .required)
    }
  }

  /// Stores a content, checked. `path` is the path of its field, for errors.
  func store(
    _ content: [UInt8], recordType: String, _ isStrict: Bool, _ path: String
  ) async throws -> ContentSummary {
    let (contents, limits) = (contents, limits)
    let name = ids.next(prefix: "t_").id
    do {
      return try await contents.run {
        try contents.put(
          content, name: name, check: ContentCheck(recordType: recordType, isStrict: isStrict, limits: limits))
      }
    } catch let error as RPCError { throw error.inside(path) }
  }
}

extension AssetChangeResult {
  /// The new version; nil if the change is a deletion.
  var asset: Asset? {
    guard case .asset(let asset) = outcome else { return nil }
    return asset
  }
}
