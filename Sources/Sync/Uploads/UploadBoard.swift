import CampanileCrypto
import CampanileRPC
import CampanileService
import Synchronization

/// The uploads that this process has a file open for. Each is written by one stream at a time.
final class UploadBoard: Sendable {
  private struct State {
    var writers: [String: OpenUpload] = [:]
    var busy: [String: Stream] = [:]
  }

  private struct Stream {
    /// When its last chunk came.
    var activeMs: Int64
    /// When the life of its upload was prolonged.
    var touchedMs: Int64
  }

  private let state = Mutex(State())
  /// Held while a file is opened and cut to what is sound, or dropped: done by two at once, one would cut or lose what the
  /// other has written.
  private let opening = Mutex(())

  func knows(_ id: String) -> Bool { state.withLock { $0.writers[id] != nil } }

  /// How much of an upload came, and its hash.
  func progress(_ id: String) throws -> (Int64, SHA256Digest?) {
    guard let open = state.withLock({ $0.writers[id] }) else { return (0, nil) }
    return try open.progress()
  }

  /// Throws ABORTED, reason `UPLOAD_BUSY`, while another stream has it.
  func begin(_ id: String, nowMs: Int64) throws(RPCError) {
    let isFree = state.withLock { state in
      guard state.busy[id] == nil else { return false }
      state.busy[id] = Stream(activeMs: nowMs, touchedMs: nowMs)
      return true
    }
    guard isFree else {
      throw RPCError(
        .aborted, "another stream brings this upload", reason: Reason.uploadBusy.rawValue, retryAfterMs: 500)
    }
  }

  /// Notes a chunk. Answers whether the life of the upload is to be prolonged now.
  func noteChunk(_ id: String, nowMs: Int64, touchEveryMs: Int64) -> Bool {
    state.withLock { state in
      guard var stream = state.busy[id] else { return false }
      let mustTouch = nowMs - stream.touchedMs >= touchEveryMs
      stream.activeMs = nowMs
      if mustTouch { stream.touchedMs = nowMs }
      state.busy[id] = stream
      return mustTouch
    }
  }

  func end(_ id: String) { state.withLock { _ = $0.busy.removeValue(forKey: id) } }

  /// Whether a stream has brought something of an upload since a time: one that is open and idle holds no place for good.
  func isBusy(_ id: String, sinceMs: Int64) -> Bool {
    state.withLock { $0.busy[id].map { $0.activeMs >= sinceMs } ?? false }
  }

  /// The open upload, from what an earlier process has left where this one has none; nil when it is complete. Blocks.
  ///
  /// `find` is asked under the lock: what it said before may be over, and an upload that has ended must not be opened again.
  @discardableResult
  func reopen(
    _ contents: ContentStore, _ limits: SyncLimits, _ find: () throws -> StoredUpload
  ) throws -> OpenUpload? {
    try opening.withLock { _ in
      let upload = try find()
      return upload.facts == nil ? try open(upload, contents, limits) : nil
    }
  }

  private func open(_ upload: StoredUpload, _ contents: ContentStore, _ limits: SyncLimits) throws -> OpenUpload {
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

  /// Whether an upload still goes into this file: it was not cancelled, swept or begun anew.
  func isCurrent(_ open: OpenUpload, _ id: String) -> Bool { state.withLock { $0.writers[id] === open } }

  /// Drops what came and begins anew; nil when it is complete. Blocks.
  func restart(
    _ contents: ContentStore, _ limits: SyncLimits, _ find: () throws -> StoredUpload
  ) throws -> OpenUpload? {
    try opening.withLock { _ in
      let upload = try find()
      guard upload.facts == nil else { return nil }
      forget(upload.id)
      DiskFile.remove(contents.uploadPath(upload.id))
      return try open(upload, contents, limits)
    }
  }

  /// Drops what came. Blocks.
  func discard(_ id: String, _ contents: ContentStore) {
    opening.withLock { _ in
      forget(id)
      DiskFile.remove(contents.uploadPath(id))
    }
  }

  func forget(_ id: String) { state.withLock { _ = $0.writers.removeValue(forKey: id) } }
}

/// The file of an upload on its way.
///
/// `@unchecked Sendable`: the writer is used under the lock alone.
final class OpenUpload: @unchecked Sendable {
  /// The disk has failed it. What it has counted need not be in its file.
  enum Fault: Sendable {
    /// The whole blocks of the file are sound, and are found by their hashes.
    case write
    /// What was written may be lost although it can still be read.
    case sync
  }

  private let lock = Mutex(())
  private var writer: ContentWriter
  private var failed: Fault?

  init(_ writer: ContentWriter) { self.writer = writer }

  func progress() throws -> (Int64, SHA256Digest?) {
    try lock.withLock { _ in (writer.receivedBytes, try writer.digest()) }
  }

  var receivedBytes: Int64 { lock.withLock { _ in writer.receivedBytes } }

  var fault: Fault? { lock.withLock { _ in failed } }

  func fail(_ fault: Fault) { lock.withLock { _ in failed = fault } }

  /// Blocks.
  func append(_ bytes: [UInt8]) throws {
    try lock.withLock { _ in
      try noting(.write) { try bytes.withUnsafeBytes { try writer.append($0) } }
    }
  }

  /// Blocks.
  func finish() throws -> ContentFacts {
    try lock.withLock { _ in try noting(.sync) { try writer.finish() } }
  }

  private func noting<T>(_ fault: Fault, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      // What is wrong with the content is no fault of the disk.
      if (error as? RPCError)?.code != .invalidArgument { failed = fault }
      throw error
    }
  }
}
