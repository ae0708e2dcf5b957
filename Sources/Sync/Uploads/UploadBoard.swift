import CampanileCrypto
import CampanileRPC
import CampanileService
import Synchronization

/// The uploads that this process has a file open for. Each is written by one stream at a time.
final class UploadBoard: Sendable {
  private struct State {
    var writers: [String: OpenUpload] = [:]
    var busy: Set<String> = []
  }

  private let state = Mutex(State())
  /// Held while a file is opened and cut to what is sound: done by two at once, one would cut what the other has written.
  private let opening = Mutex(())

  func knows(_ id: String) -> Bool { state.withLock { $0.writers[id] != nil } }

  /// How much of an upload came, and its hash.
  func progress(_ id: String) throws -> (Int64, SHA256Digest?) {
    guard let open = state.withLock({ $0.writers[id] }) else { return (0, nil) }
    return try open.progress()
  }

  /// Throws ABORTED, reason `UPLOAD_BUSY`, while another stream has it.
  func begin(_ id: String) throws(RPCError) {
    let isFree = state.withLock { $0.busy.insert(id).inserted }
    guard isFree else {
      throw RPCError(
        .aborted, "another stream brings this upload", reason: Reason.uploadBusy.rawValue, retryAfterMs: 500)
    }
  }

  func end(_ id: String) { state.withLock { _ = $0.busy.remove(id) } }

  func isBusy(_ id: String) -> Bool { state.withLock { $0.busy.contains(id) } }

  /// The open upload, from what an earlier process has left where this one has none. Blocks.
  @discardableResult
  func reopen(_ upload: StoredUpload, _ contents: ContentStore, _ limits: SyncLimits) throws -> OpenUpload {
    try opening.withLock { _ in
      if let open = state.withLock({ $0.writers[upload.id] }) { return open }
      let path = contents.uploadPath(upload.id)
      let check = ContentCheck(recordType: upload.recordType, isStrict: upload.isStrict, limits: limits)
      let open = OpenUpload(
        DiskFile.exists(path)
          ? try ContentWriter.resume(path, packs: contents.packs, check: check)
          : try ContentWriter.begin(path, packs: contents.packs, check: check))
      state.withLock { $0.writers[upload.id] = open }
      return open
    }
  }

  /// Drops what came and begins anew. Blocks.
  func restart(_ upload: StoredUpload, _ contents: ContentStore, _ limits: SyncLimits) throws -> OpenUpload {
    forget(upload.id)
    DiskFile.remove(contents.uploadPath(upload.id))
    return try reopen(upload, contents, limits)
  }

  func forget(_ id: String) { state.withLock { _ = $0.writers.removeValue(forKey: id) } }
}

/// The file of an upload on its way.
///
/// `@unchecked Sendable`: the writer is used under the lock alone.
final class OpenUpload: @unchecked Sendable {
  private let lock = Mutex(())
  private var writer: ContentWriter

  init(_ writer: ContentWriter) { self.writer = writer }

  func progress() throws -> (Int64, SHA256Digest?) {
    try lock.withLock { _ in (writer.receivedBytes, try writer.digest()) }
  }

  var receivedBytes: Int64 { lock.withLock { _ in writer.receivedBytes } }

  /// Blocks.
  func append(_ bytes: [UInt8]) throws {
    try lock.withLock { _ in try bytes.withUnsafeBytes { try writer.append($0) } }
  }

  /// Blocks.
  func finish() throws -> ContentFacts { try lock.withLock { _ in try writer.finish() } }
}
