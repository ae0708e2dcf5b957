import CampanileAPI
import CampanileCrypto
import CampanileRPC
import CampanileService

/// One stream that brings an upload. It holds one chunk at most beside what its file holds.
struct UploadRun: Sendable {
  let upload: StoredUpload
  let user: String
  let repository: any SyncRepository
  let contents: ContentStore
  let board: UploadBoard
  private let open: OpenUpload

  /// Nil for an upload that is complete already. Throws OUT_OF_RANGE, reason `OFFSET_MISMATCH`.
  static func begin(
    _ start: UploadContentRequest.UploadStart, user: String, repository: any SyncRepository,
    contents: ContentStore, board: UploadBoard
  ) async throws -> UploadRun? {
    let upload = try repository.upload(start.uploadId, user: user)
    if upload.facts != nil { return nil }
    try board.begin(upload.id, nowMs: repository.clockMs())
    do {
      let limits = repository.limits
      let isNew = start.offset == 0
      let open = try await contents.run {
        let find = { try repository.upload(upload.id, user: user) }
        let open = try board.reopen(contents, limits, find)
        guard isNew, let open, open.receivedBytes > 0 else { return open }
        return try board.restart(contents, limits, find)
      }
      guard let open else {
        board.end(upload.id)
        return nil
      }
      let received = open.receivedBytes
      guard start.offset == received else {
        throw RPCError(
          .outOfRange, "start.offset: is \(start.offset) where \(received) bytes are here",
          reason: Reason.offsetMismatch.rawValue, errorMetadata: ["receivedBytes": String(received)],
          fieldViolations: [
            .init(
              field: "start.offset", description: "must be 0 or \(received)", reason: Reason.offsetMismatch.rawValue)
          ])
      }
      return UploadRun(
        upload: upload, user: user, repository: repository, contents: contents, board: board, open: open)
    } catch {
      board.end(upload.id)
      throw error
    }
  }

  func take(_ chunk: UploadContentRequest.UploadChunk) async throws {
    let sizeMax = ContentBlock.sizeBytes
    let (open, upload) = (open, upload)
    let encoding = chunk.encoding
    guard encoding == .unspecified || encoding == .gzip else {
      throw RPCError.invalidField("chunk.encoding", "is unknown", reason: Reason.enumUnknown.rawValue)
    }
    let data = chunk.data
    try requireCurrent()
    try await contents.run {
      let unpacked: [UInt8]? =
        encoding == .gzip ? data.withUnsafeBytes { Deflate.unpack($0, .gzip, sizeMax: sizeMax) } : data
      guard let bytes = unpacked, (1...sizeMax).contains(bytes.count) else {
        throw RPCError.invalidField(
          "chunk.data", "must be 1 to \(sizeMax) bytes, packed as its encoding says",
          reason: Reason.chunkInvalid.rawValue)
      }
      guard open.receivedBytes + Int64(bytes.count) <= upload.sizeBytes else {
        throw UploadFailure(
          error: .invalidField(
            "chunk.data", "goes beyond the \(upload.sizeBytes) bytes that were declared",
            reason: Reason.contentTooLarge.rawValue))
      }
      do {
        try open.append(bytes)
      } catch let error as RPCError where error.code == .invalidArgument {
        throw UploadFailure(error: error)
      }
    }
    // Well before it would be past its time, however slow it comes.
    let touchEveryMs = repository.limits.uploadIdleMaxMs / 4
    if board.noteChunk(upload.id, nowMs: repository.clockMs(), touchEveryMs: touchEveryMs) {
      try await repository.touchUpload(upload.id, user: user)
    }
  }

  /// The stream has ended: completes the upload when all of it is here.
  func finish() async throws {
    guard open.receivedBytes == upload.sizeBytes else { return }
    try requireCurrent()
    let (open, upload, contents) = (open, upload, contents)
    let facts = try await contents.run {
      let facts: ContentFacts
      do {
        facts = try open.finish()
      } catch let error as RPCError where error.code == .invalidArgument {
        throw UploadFailure(error: error)
      }
      guard facts.digest == upload.digest else {
        throw UploadFailure(
          error: RPCError(
            .invalidArgument, "the content has another SHA-256 than was declared", reason: Reason.hashMismatch.rawValue,
            errorMetadata: ["sha256": facts.digest.hexadecimal]))
      }
      contents.pin(facts.digest)
      do {
        try contents.adopt(contents.uploadPath(upload.id), facts.digest)
      } catch {
        contents.unpin(facts.digest)
        // Whether it has its name already nobody knows.
        open.fail(.sync)
        throw error
      }
      return facts
    }
    do {
      _ = try await repository.completeUpload(upload.id, facts, user: user)
      contents.unpin(facts.digest)
    } catch {
      let repository = repository
      try? await contents.run {
        contents.remove(facts.digest, ownPins: 1) { try repository.hasContent(facts.digest) }
      }
      await discard()
      throw error
    }
    // Not before: who asks for its progress in between would open it anew.
    await discard()
  }

  /// After the stream: what is wrong with the content drops the upload, everything else leaves it to be gone on with.
  func end(after error: (any Error)?) async {
    if error is UploadFailure {
      _ = try? await repository.deleteUpload(upload.id, user: user)
      await discard()
    } else if error == nil {
      try? await repository.touchUpload(upload.id, user: user)
    } else if let fault = open.fault {
      // To go on, the file is read anew.
      if fault == .sync { await discard() } else { board.forget(upload.id) }
    }
    // It may have been cancelled or swept meanwhile: nothing of it stays open.
    if board.isCurrent(open, upload.id), (try? repository.upload(upload.id, user: user)) == nil { await discard() }
    board.end(upload.id)
  }

  private func discard() async {
    let (board, contents, id) = (board, contents, upload.id)
    try? await contents.run { board.discard(id, contents) }
  }

  private func requireCurrent() throws(RPCError) {
    guard board.isCurrent(open, upload.id) else { throw .uploadNotFound(upload.id) }
  }
}

/// Something is wrong with the content itself, so that going on is of no use.
struct UploadFailure: Error, RPCErrorConvertible {
  var error: RPCError
  var rpcError: RPCError { error }
}
