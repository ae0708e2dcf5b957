public import CampanileAPI
import CampanileBase
import CampanileCrypto
public import CampanileRPC
import CampanileService

extension AssetsService {
  public func putAsset(_ request: PutAssetRequest, context: CallContext) async throws -> PutAssetResponse {
    let user = try context.requireUser()
    var violations = Violations()
    let zone = NameRules.zone(request.zone, &violations)
    NameRules.device(request.deviceId, "deviceId", &violations)
    RequestChecks.requestID(request.requestId, "requestId", &violations)
    let put = request.put ?? AssetPut()
    let change = ChangeRules.change(put, "put.", limits, &violations)
    try violations.check()
    let reply = try await commit(
      zone: zone, device: request.deviceId, [change], user: user,
      idempotency: try IdempotentRequest(
        request, id: \.requestId, method: AssetsServiceMethods.putAsset, user: user))
    var response = reply.results.first ?? PutAssetResponse()
    response.storage = reply.storage
    response.userStorage = reply.userStorage
    return response
  }

  public func commitAssets(
    _ request: CommitAssetsRequest, context: CallContext
  ) async throws -> CommitAssetsResponse {
    let user = try context.requireUser()
    var violations = Violations()
    let zone = NameRules.zone(request.zone, &violations)
    NameRules.device(request.deviceId, "deviceId", &violations)
    RequestChecks.requestID(request.requestId, "requestId", &violations)
    RequestChecks.count(request.changes.count, "changes", limits, &violations)
    let changes = ChangeRules.changes(request.changes, limits, &violations)
    try violations.check()
    return try await commit(
      zone: zone, device: request.deviceId, changes, user: user,
      idempotency: try IdempotentRequest(
        request, id: \.requestId, method: AssetsServiceMethods.commitAssets, user: user))
  }

  public func deleteAsset(_ request: DeleteAssetRequest, context: CallContext) async throws -> DeleteAssetResponse {
    let user = try context.requireUser()
    let (zone, name) = try Self.place(request.zone, request.name, 0, device: request.deviceId)
    try Violations.check { RequestChecks.requestID(request.requestId, "requestId", &$0) }
    let reply = try await repository.commit(
      CommitDraft(
        zone: zone, device: request.deviceId,
        changes: [ChangeDraft(name: name, ifMatch: request.ifMatch, kind: .delete, path: "")]),
      user: user,
      idempotency: try IdempotentRequest(
        request, id: \.requestId, method: AssetsServiceMethods.deleteAsset, user: user))
    return DeleteAssetResponse(revision: reply.revision)
  }

  public func restoreAssetVersion(
    _ request: RestoreAssetVersionRequest, context: CallContext
  ) async throws -> RestoreAssetVersionResponse {
    let user = try context.requireUser()
    let (zone, name) = try Self.place(request.zone, request.name, request.version, device: request.deviceId)
    var violations = Violations()
    RequestChecks.requestID(request.requestId, "requestId", &violations)
    if request.version == 0 { violations.add("version", "must be given", .required) }
    try violations.check()
    let old = try repository.version(request.version, of: name, zone: zone, user: user)
    let digest = try Self.digest(of: old)
    var put = PutDraft(
      recordType: old.recordType, syncTimestampMs: old.syncTimestampMs,
      recordCount: ContentCheck.isContainer(old.recordType) ? 0 : old.recordCount, content: .known(digest))
    // A client that restores an old version has seen the version that it replaces.
    put.followsCurrent = true
    let reply = try await repository.commit(
      CommitDraft(
        zone: zone, device: request.deviceId,
        changes: [ChangeDraft(name: name, ifMatch: request.ifMatch, kind: .put(put), path: "")]),
      user: user,
      idempotency: try IdempotentRequest(
        request, id: \.requestId, method: AssetsServiceMethods.restoreAssetVersion, user: user))
    return RestoreAssetVersionResponse(asset: reply.results.first?.asset)
  }

  /// Stores the contents of a commit on disk and commits it. Removes the contents again if the commit fails.
  func commit(
    zone: String, device: String, _ changes: [RequestedChange], user: String, idempotency: IdempotentRequest?
  ) async throws -> CommitAssetsResponse {
    try repository.requireWriter(device, user: user)
    // Retry, because another device may commit between the read of a merge and its commit.
    for _ in 0..<8 {
      var drafts: [ChangeDraft] = []
      var stored: [SHA256Digest] = []
      var reply: Result<CommitAssetsResponse, any Error>
      do {
        for change in changes {
          let draft = try await draft(change, zone: zone, user: user)
          if case .put(let put) = draft.kind, case .stored(let summary) = put.content { stored.append(summary.digest) }
          drafts.append(draft)
        }
        reply = .success(
          try await repository.commit(
            CommitDraft(zone: zone, device: device, changes: drafts), user: user, idempotency: idempotency))
      } catch { reply = .failure(error) }
      await release(stored, isKept: (try? reply.get()) != nil)
      let wasMerged = drafts.contains { draft in
        if case .put(let put) = draft.kind { put.isMerged } else { false }
      }
      if wasMerged, case .failure(let error as RPCError) = reply, error.reason == Reason.etagMismatch.rawValue {
        continue
      }
      return try reply.get()
    }
    throw RPCError(.aborted, "the asset changes too often to be merged; try again", .commitContended, retryAfterMs: 100)
  }

  private func draft(_ change: RequestedChange, zone: String, user: String) async throws -> ChangeDraft {
    guard case .put(let request) = change.kind else {
      return ChangeDraft(name: change.name, ifMatch: change.ifMatch, kind: .delete, path: change.path)
    }
    if request.isMerge, let merged = try await merged(change, request, zone: zone, user: user) { return merged }
    var put = request.put
    if let content = request.inlineContent {
      put.content = .stored(
        try await store(content, recordType: try recordType(change, request, zone, user), request.isStrict, change.path)
      )
    }
    return ChangeDraft(name: change.name, ifMatch: change.ifMatch, kind: .put(put), path: change.path)
  }

  /// Returns the record type of a put: its own, or that of the current asset.
  private func recordType(
    _ change: RequestedChange, _ request: RequestedPut, _ zone: String, _ user: String
  ) throws -> String {
    guard request.put.recordType.isEmpty else { return request.put.recordType }
    do {
      return try repository.version(0, of: change.name, zone: zone, user: user).recordType
    } catch let error as RPCError where error.code == .notFound {
      throw RPCError.invalidField("\(change.path)recordType", "must be given for a new asset", .required)
    }
  }

  /// Stores a content on disk, checked and pinned. `path` is the path of its field, for errors.
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

  /// Unpins contents. Removes those that nothing references, unless `isKept`.
  func release(_ digests: [SHA256Digest], isKept: Bool) async {
    contents.journalBudget.committed()
    if isKept {
      for digest in digests { contents.unpin(digest) }
      return
    }
    contents.journalBudget.give(back: Dictionary(digests.map { ($0, 1) }, uniquingKeysWith: +))
    let (contents, repository) = (contents, repository)
    // If the pool is closed, `OrphanPurge` removes them after the next start.
    try? await contents.run {
      for digest in digests { contents.remove(digest, ownPins: 1) { try repository.hasContent(digest) } }
    }
  }
}
