import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import SyncContents

/// A stream that writes an upload. Holds one chunk at most in addition to its file.
struct UploadRun: Sendable {
  let upload: StoredUpload
  let user: String
  let repository: any SyncRepository
  let contents: any ContentStore
  let uploadTable: OpenUploadTable
  private let open: OpenUpload

  /// Starts or resumes an upload; nil if it is already complete. Throws OUT_OF_RANGE, reason `OFFSET_MISMATCH`.
  static func begin(
    _ start: UploadContentRequest.UploadStart, user: String, repository: any SyncRepository,
    contents: any ContentStore, uploadTable: OpenUploadTable
  ) async throws -> UploadRun? {
    let upload = try await repository.upload(start.uploadId, user: user)
    if upload.summary != nil { return nil }
    try uploadTable.begin(upload.id, nowMs: repository.clockMs())
    do {
      let isNew = start.offset == 0
      let open = try await contents.run {
        let open = try uploadTable.reopen(upload.id, user: user, repository, contents)
        guard isNew, let open, open.receivedBytes > 0 else { return open }
        return try uploadTable.restart(upload.id, user: user, repository, contents)
      }
      guard let open else {
        uploadTable.end(upload.id)
        return nil
      }
      let received = open.receivedBytes
      guard start.offset == received else {
        throw RPCError(
          .outOfRange, "start.offset: is \(start.offset), but \(received) bytes were received",
          .offsetMismatch, errorMetadata: ["receivedBytes": String(received)],
          fieldViolations: [
            .init(
              field: "start.offset", description: "must be 0 or \(received)", reason: Reason.offsetMismatch.rawValue)
          ])
      }
      return UploadRun(
        upload: upload, user: user, repository: repository, contents: contents, uploadTable: uploadTable, open: open)
    } catch {
      uploadTable.end(upload.id)
      throw error
    }
  }

  func take(_ chunk: UploadContentRequest.UploadChunk) async throws {
    let sizeMax = ContentBlock.sizeBytes
    let (open, upload) = (open, upload)
    let encoding = chunk.encoding
    try Violations.check { chunk.validate("chunk.", into: &$0) }
    let data = chunk.data
    try requireCurrent()
    try await contents.run {
      let unpacked: [UInt8]? =
        encoding == .gzip ? data.withUnsafeBytes { Deflate.unpack($0, .gzip, sizeMax: sizeMax) } : data
      guard let bytes = unpacked, (1...sizeMax).contains(bytes.count) else {
        throw RPCError.invalidField(
          "chunk.data", "must be 1 to \(sizeMax) bytes, encoded as its encoding field says",
          .chunkInvalid)
      }
      guard open.receivedBytes + Int64(bytes.count) <= upload.sizeBytes else {
        throw UploadFailure(
          error: .invalidField(
            "chunk.data", "exceeds the declared size of \(upload.sizeBytes) bytes",
            .contentTooLarge))
      }
      do {
        try open.append(bytes)
      } catch let error as RPCError where error.code == .invalidArgument {
        throw UploadFailure(error: error)
      }
    }
    // Extend the retention well before it ends, however slow the stream is.
    let touchEveryMs = repository.limits.uploadIdleMaxMs / 4
    if uploadTable.noteChunk(upload.id, nowMs: repository.clockMs(), touchEveryMs: touchEveryMs) {
      try await repository.touchUpload(upload.id, user: user)
    }
  }

  /// Completes the upload if all bytes have arrived. Call at the end of the stream.
  func finish() async throws {
    guard open.receivedBytes == upload.sizeBytes else { return }
    try requireCurrent()
    let (open, upload, contents) = (open, upload, contents)
    let summary = try await contents.run {
      let summary: ContentSummary
      do {
        summary = try open.finish()
      } catch let error as RPCError where error.code == .invalidArgument {
        throw UploadFailure(error: error)
      }
      guard summary.digest == upload.digest else {
        throw UploadFailure(
          error: RPCError(
            .invalidArgument, "the SHA-256 of the content is not as declared", .hashMismatch,
            errorMetadata: ["sha256": summary.digest.hexadecimal]))
      }
      do {
        return try contents.adopt(upload.id, summary)
      } catch {
        // The rename may or may not have happened.
        open.fail(.sync)
        throw error
      }
    }
    do {
      _ = try await repository.completeUpload(upload.id, summary, epoch: open.epoch, user: user)
      contents.keep([summary])
    } catch let error as RPCError where error.code == .aborted {
      // The file belongs to another process now.
      open.fail(.taken)
      throw error
    } catch {
      try? await contents.run { contents.drop([summary]) }
      await discard()
      throw error
    }
    // Only now: a request for its progress would otherwise open the upload again.
    await discard()
  }

  /// Ends the run. An error in the content deletes the upload; after any other error it can be resumed.
  func end(after error: (any Error)?) async {
    if error is UploadFailure {
      let epoch = try? await repository.upload(upload.id, user: user).epoch
      if let epoch, epoch != open.epoch {
        // Another process has taken it, so the bytes that have failed here are not those of the upload.
        uploadTable.forget(upload.id)
      } else {
        _ = try? await repository.deleteUpload(upload.id, user: user)
        await discard()
      }
    } else if let fault = open.fault {
      // A resumed upload must read the file again.
      if fault == .sync { await discard() } else { uploadTable.forget(upload.id) }
    } else {
      await flush()
      if error == nil { try? await repository.touchUpload(upload.id, user: user) }
    }
    // It may have been cancelled or purged in the meantime: leave nothing open.
    if uploadTable.isCurrent(open, upload.id), (try? await repository.upload(upload.id, user: user)) == nil {
      await discard()
    }
    uploadTable.end(upload.id)
  }

  private func flush() async {
    // The file of a cancelled upload must not come back.
    guard uploadTable.isCurrent(open, upload.id) else { return }
    let open = open
    try? await contents.run { try open.flush() }
  }

  private func discard() async {
    let (uploadTable, contents, id) = (uploadTable, contents, upload.id)
    try? await contents.run { uploadTable.discard(id, contents) }
  }

  private func requireCurrent() throws(RPCError) {
    guard uploadTable.isCurrent(open, upload.id) else { throw .uploadNotFound(upload.id) }
  }
}

/// An error in the content itself; the upload cannot be resumed.
struct UploadFailure: Error, RPCErrorConvertible {
  var error: RPCError
  var rpcError: RPCError { error }
}
