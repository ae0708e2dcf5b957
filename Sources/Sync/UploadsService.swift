public import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
public import CampanileRPC
import CampanileService

/// Serves `campanile.sync.v1.UploadsService`: contents of any size, uploaded before the commit that uses them.
public struct UploadsService: UploadsServiceProtocol {
  let repository: any SyncRepository
  let contents: any ContentStore
  let uploadTable: OpenUploadTable
  let ids: SortableIDGenerator

  private var limits: SyncLimits { repository.limits }

  public func createUpload(
    _ request: CreateUploadRequest, context: CallContext
  ) async throws -> CreateUploadResponse {
    let user = try context.requireUser(of: request.deviceId)
    var violations = Violations()
    request.validate(into: &violations)
    let zone = NameRules.zone(request.zoneId, &violations)
    NameRules.device(request.deviceId, "deviceId", &violations)
    NameRules.path(request.recordType, "recordType", &violations)
    if request.sizeBytes > limits.contentBytesMax {
      violations.add("sizeBytes", "must be at most \(limits.contentBytesMax)", .contentTooLarge)
    }
    try violations.check()
    guard let digest = NameRules.digest(request.sha256) else {
      throw RPCError(.internalError, "an invalid hash passed validation")
    }
    let upload = StoredUpload(
      id: ids.next(prefix: "u_").id, zone: zone, recordType: request.recordType, sizeBytes: request.sizeBytes,
      digest: digest, isStrict: request.strict, expiresAtMs: repository.clockMs() + limits.uploadIdleMaxMs)
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: UploadsServiceMethods.createUpload, user: user)
    return CreateUploadResponse(
      upload: try await repository.createUpload(
        upload, device: request.deviceId, user: user, idempotency: idempotency))
  }

  public func uploadContent(
    _ requests: RequestStream<UploadContentRequest>, context: CallContext
  ) async throws -> UploadContentResponse {
    let user = try await context.requireWritingUser(repository)
    let iterator = requests.makeAsyncIterator()
    guard case .start(let start) = try await iterator.next()?.message else {
      throw RPCError.invalidField("start", "must come first", .required)
    }
    let run = try await UploadRun.begin(
      start, user: user, repository: repository, contents: contents, uploadTable: uploadTable)
    guard let run else { return try await answer(start.uploadId, user: user) }
    do {
      while let request = try await iterator.next() {
        guard case .chunk(let chunk) = request.message else {
          throw RPCError.invalidField("chunk", "must follow the start", .required)
        }
        try await run.take(chunk)
      }
      try await run.finish()
    } catch {
      await run.end(after: error)
      throw error
    }
    await run.end(after: nil)
    return try await answer(start.uploadId, user: user)
  }

  public func getUpload(_ request: GetUploadRequest, context: CallContext) async throws -> GetUploadResponse {
    let user = try context.requireUser()
    let upload = try await repository.upload(request.uploadId, user: user)
    // Read the file of an earlier process again, to know how much of it is valid.
    if upload.summary == nil, !contents.isShared, !uploadTable.knows(upload.id) {
      let (uploadTable, contents, repository) = (uploadTable, contents, repository)
      try await contents.run { _ = try uploadTable.reopen(upload.id, user: user, repository, contents) }
    }
    return GetUploadResponse(upload: try await message(try repository.upload(request.uploadId, user: user)))
  }

  public func cancelUpload(
    _ request: CancelUploadRequest, context: CallContext
  ) async throws -> CancelUploadResponse {
    let user = try await context.requireWritingUser(repository)
    if try await repository.deleteUpload(request.uploadId, user: user) {
      let (uploadTable, contents, id) = (uploadTable, contents, request.uploadId)
      try await contents.run { uploadTable.discard(id, contents) }
    }
    return CancelUploadResponse()
  }

  private func answer(_ id: String, user: String) async throws -> UploadContentResponse {
    UploadContentResponse(upload: try await message(try repository.upload(id, user: user)))
  }

  private func message(_ upload: StoredUpload) async throws -> Upload {
    if upload.summary != nil {
      return upload.message(receivedBytes: upload.sizeBytes, hash: upload.digest.hexadecimal)
    }
    // Run on the store's threads: this may have to wait for a stream that writes to disk.
    let (uploadTable, contents, limits) = (uploadTable, contents, limits)
    let (received, digest) = try await contents.run { try uploadTable.progress(upload, contents, limits) }
    return upload.message(receivedBytes: received, hash: digest?.hexadecimal ?? "")
  }
}
