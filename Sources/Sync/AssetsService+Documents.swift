public import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
public import CampanileRPC
import CampanileService

extension AssetsService {
  public func patchAsset(_ request: PatchAssetRequest, context: CallContext) async throws -> PatchAssetResponse {
    let user = try context.requireUser(of: request.deviceId)
    var violations = Violations()
    let zone = Self.zone(request, request.zoneId, request.name, device: request.deviceId, &violations)
    let time = TimeRules.milliseconds(request.syncTime, "syncTime", &violations)
    try violations.check()
    try await repository.requireWriter(request.deviceId, user: user)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AssetsServiceMethods.patchAsset, user: user)
    // The condition no longer holds after the first response, so look for it before checking the condition.
    if let reply = try await repository.storedCommit(idempotency) { return Self.patched(reply) }
    let current = try await repository.version(0, of: request.name, zone: zone, user: user)
    guard request.etag == current.etag, let patch = request.patch else {
      throw RPCError.etagMismatch(field: "etag", current: current.etag)
    }
    try requireDocument(current, "name")
    let document = try DocumentSource(current)
    let sizeMax = limits.contentBytesMax
    let summary = try await made(recordType: current.recordType, isStrict: false, path: "") { contents in
      try Documents.apply(patch, to: try document.load(contents), sizeMax: sizeMax)
    }
    var put = PutDraft(
      recordType: current.recordType, syncTimeMs: time,
      recordCount: summary.recordCount == nil ? current.recordCount : 0, content: .stored(summary))
    put.followsCurrent = true
    var draft = CommitDraft(
      zone: zone, device: request.deviceId,
      changes: [ChangeDraft(name: request.name, etag: request.etag, put: put, path: "")])
    return Self.patched(try await storeAndCommit(&draft, user: user, idempotency: idempotency))
  }

  private static func patched(_ reply: CommitAssetsResponse) -> PatchAssetResponse {
    PatchAssetResponse(asset: reply.results.first?.asset, storage: reply.storage, userStorage: reply.userStorage)
  }

  public func getAssetDelta(
    _ request: GetAssetDeltaRequest, context: CallContext
  ) async throws -> GetAssetDeltaResponse {
    let user = try context.requireUser()
    let zone = try Violations.check { Self.zone(request, request.zoneId, request.name, &$0) }
    let kinds: [DeltaKind] = [.jsonPatch, .mergePatch, .bytes]
    let current = try await repository.version(0, of: request.name, zone: zone, user: user)
    var response = GetAssetDeltaResponse(asset: current.asset(in: zone))
    guard request.sinceVersion != current.version else {
      response.kind = .unchanged
      return response
    }
    let old = try? await repository.version(request.sinceVersion, of: request.name, zone: zone, user: user)
    if let old, old.digest == current.digest {
      response.kind = .unchanged
      return response
    }
    if let old, request.sinceVersion > 0, !old.isDeleted,
      max(old.sizeBytes, current.sizeBytes) <= limits.documentBytesMax
    {
      let (before, after, contents) = (try DocumentSource(old), try DocumentSource(current), contents)
      let accepted = request.accept.isEmpty ? kinds : request.accept
      let delta = try await documents.run {
        try Documents.delta(from: try before.load(contents), to: try after.load(contents), accepted: accepted)
      }
      if let delta {
        (response.kind, response.delta) = delta
        return response
      }
    }
    response.kind = .whole
    if current.sizeBytes <= Int64(limits.inlineBytesMax) { response.delta = try await content(of: current) }
    return response
  }

  /// Returns the change that a merge results in; nil if there is nothing to merge with.
  func merged(
    _ change: ChangeDraft, _ draft: PutDraft, zone: String, user: String
  ) async throws -> ChangeDraft? {
    let current: StoredVersion
    do {
      current = try await repository.version(0, of: change.name, zone: zone, user: user)
    } catch let error as RPCError where error.code == .notFound { return nil }
    var put = draft
    if put.recordType.isEmpty { put.recordType = current.recordType }
    guard ContentCheck.isContainer(put.recordType), put.recordType == current.recordType else {
      throw RPCError.refused(
        "\(change.path)onConflict", "only BucketsData and NotificationsData can be merged", .mergeRefused)
    }
    if put.baseEtag == current.etag { return nil }
    try requireDocument(current, "\(change.path)name")
    let base = try await baseVersion(put.baseEtag, of: change.name, zone: zone, user: user)
    let mine = try await newContent(of: put, change, user: user)
    let theirs = try DocumentSource(current)
    let ancestor = try base.flatMap { $0.sizeBytes <= limits.documentBytesMax ? try DocumentSource($0) : nil }
    let recordType = put.recordType
    let summary = try await made(recordType: recordType, isStrict: put.isStrict, path: change.path) { contents in
      try Documents.merge(
        base: try ancestor?.load(contents), mine: try mine.load(contents), theirs: try theirs.load(contents),
        recordType: recordType, path: change.path)
    }
    put.content = .stored(summary)
    put.isMerged = true
    put.recordCount = 0
    return ChangeDraft(name: change.name, etag: current.etag, put: put, path: change.path)
  }

  private func baseVersion(
    _ etag: String, of name: String, zone: String, user: String
  ) async throws -> StoredVersion? {
    guard let number = Etag.version(etag), number > 0 else { return nil }
    guard let base = try? await repository.version(number, of: name, zone: zone, user: user), !base.isDeleted else {
      return nil
    }
    return base
  }

  /// Builds a document from others and stores it, checked. Load, build and store while holding one of the
  /// few places, because all documents are in memory.
  private func made(
    recordType: String, isStrict: Bool, path: String, _ body: @escaping @Sendable (any ContentStore) throws -> [UInt8]
  ) async throws -> ContentSummary {
    let (contents, limits, name) = (contents, limits, ids.next(prefix: "t_").id)
    return try await documents.run {
      let document = try body(contents)
      do {
        return try contents.put(
          document, name: name, check: ContentCheck(recordType: recordType, isStrict: isStrict, limits: limits))
      } catch let error as RPCError { throw error.inside(path) }
    }
  }

  /// Returns the new content of a put.
  private func newContent(
    of put: PutDraft, _ change: ChangeDraft, user: String
  ) async throws -> DocumentSource {
    let digest: SHA256Digest
    let sizeBytes: Int64
    switch put.content {
    case .inline(let content): return .memory(content)
    case .stored(let summary): (digest, sizeBytes) = (summary.digest, summary.sizeBytes)
    case .known: throw RPCError.refused("\(change.path)sha256", "cannot be merged; send the content", .mergeRefused)
    case .upload(let id):
      guard let summary = try await repository.upload(id, user: user).summary else {
        throw RPCError.refused("\(change.path)uploadId", "is not complete", .uploadIncomplete)
      }
      (digest, sizeBytes) = (summary.digest, summary.sizeBytes)
    }
    guard sizeBytes <= limits.documentBytesMax else {
      throw RPCError.refused("\(change.path)uploadId", "is too large to be merged", .contentTooLarge)
    }
    return .stored(digest, sizeBytes: sizeBytes)
  }

  private func requireDocument(_ version: StoredVersion, _ field: String) throws(RPCError) {
    guard version.sizeBytes <= limits.documentBytesMax else {
      throw .refused(
        field, "has \(version.sizeBytes) bytes; \(limits.documentBytesMax) can be patched or merged", .contentTooLarge)
    }
  }
}
