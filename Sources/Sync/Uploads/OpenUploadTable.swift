import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileService
import SyncContents
import Synchronization

/// The uploads with an open file in this process. Only one stream at a time writes an upload.
final class OpenUploadTable: Sendable {
  private struct State {
    var writers: [String: OpenUpload] = [:]
    var busy: [String: Stream] = [:]
  }

  private struct Stream {
    /// The time of the last chunk.
    var activeMs: Int64
    /// The time at which the upload's retention was last extended.
    var touchedMs: Int64
  }

  private let state = Mutex(State())
  /// Held while a file is opened and truncated to its valid part, or deleted. Otherwise one caller could truncate or
  /// delete what another has written.
  private let opening = Mutex(())

  func knows(_ id: String) -> Bool { state.withLock { $0.writers[id] != nil } }

  /// The file with which this process writes an upload; nil if it has none, or if another process has taken the upload.
  private func current(_ upload: StoredUpload) -> OpenUpload? {
    state.withLock { $0.writers[upload.id].flatMap { $0.epoch == upload.epoch ? $0 : nil } }
  }

  /// Returns the received bytes of an upload and their hash. Blocks.
  func progress(_ upload: StoredUpload, _ contents: any ContentStore, _ limits: SyncLimits) throws
    -> (Int64, SHA256Digest?)
  {
    if let open = current(upload) { return try open.progress() }
    guard contents.isShared, let file = try contents.open(upload, isWritable: false) else { return (0, nil) }
    let writer = try ContentWriter.resume(file, packs: contents.packs, check: ContentCheck(of: upload, limits))
    return (writer.receivedBytes, try writer.digest())
  }

  /// Reserves an upload for a stream. Throws ABORTED, reason `UPLOAD_BUSY`, if another stream has it.
  func begin(_ id: String, nowMs: Int64) throws(RPCError) {
    let isFree = state.withLock { state in
      guard state.busy[id] == nil else { return false }
      state.busy[id] = Stream(activeMs: nowMs, touchedMs: nowMs)
      return true
    }
    guard isFree else { throw .uploadTaken }
  }

  /// Records a chunk.
  ///
  /// - Returns: Whether the caller should extend the upload's retention now.
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

  /// Whether a stream has received a chunk of an upload since a time. An open but idle stream must not keep it forever.
  func isBusy(_ id: String, sinceMs: Int64) -> Bool {
    state.withLock { $0.busy[id].map { $0.activeMs >= sinceMs } ?? false }
  }

  /// Returns the open upload of this process, or takes it and resumes its file; nil if the upload is complete. Blocks.
  @discardableResult
  func reopen(
    _ id: String, user: String, _ repository: any SyncRepository, _ contents: any ContentStore
  ) throws -> OpenUpload? {
    // Loaded under the lock, because an upload that ended in the meantime must not be opened again.
    try opening.withLock { _ in
      let upload = try repository.uploadBlocking(id, user: user)
      if upload.summary != nil { return nil }
      if let open = current(upload) { return open }
      return try open(upload, user: user, repository, contents) { upload in
        try contents.open(upload, isWritable: true)
      }
    }
  }

  /// Opens the file that `find` returns, or a new one.
  private func open(
    _ upload: StoredUpload, user: String, _ repository: any SyncRepository, _ contents: any ContentStore,
    _ find: (StoredUpload) throws -> (any ContentFile)?
  ) throws -> OpenUpload {
    let upload = contents.isShared ? try repository.takeUploadBlocking(upload.id, user: user) : upload
    let check = ContentCheck(of: upload, repository.limits)
    let open = OpenUpload(
      try find(upload).map { try ContentWriter.resume($0, packs: contents.packs, check: check) }
        ?? ContentWriter.begin(try contents.create(upload), packs: contents.packs, check: check),
      epoch: upload.epoch)
    state.withLock { $0.writers[upload.id] = open }
    return open
  }

  /// Whether an upload still uses this file: it was not cancelled, purged or restarted.
  func isCurrent(_ open: OpenUpload, _ id: String) -> Bool { state.withLock { $0.writers[id] === open } }

  /// Deletes the received bytes and starts over; nil if the upload is complete. Blocks.
  func restart(
    _ id: String, user: String, _ repository: any SyncRepository, _ contents: any ContentStore
  ) throws -> OpenUpload? {
    try opening.withLock { _ in
      let upload = try repository.uploadBlocking(id, user: user)
      guard upload.summary == nil else { return nil }
      forget(id)
      return try open(upload, user: user, repository, contents) { _ in nil }
    }
  }

  /// Deletes the received bytes. Blocks.
  func discard(_ id: String, _ contents: any ContentStore) {
    opening.withLock { _ in
      forget(id)
      contents.discard(id)
    }
  }

  func forget(_ id: String) { state.withLock { _ = $0.writers.removeValue(forKey: id) } }
}

/// The file of an unfinished upload.
///
/// `@unchecked Sendable`: the writer is used only under the lock.
final class OpenUpload: @unchecked Sendable {
  /// A reason to read the file again. The bytes counted as received may not be in it.
  enum Fault: Sendable {
    /// The complete blocks of the file are valid; their hashes identify them.
    case write
    /// Written bytes may be lost although they can still be read.
    case sync
    /// Another process continues the upload, or it was cancelled there.
    case taken
  }

  /// The epoch in which this process has taken the upload.
  let epoch: Int64

  private let lock = Mutex(())
  private var writer: ContentWriter
  private var failed: Fault?

  init(_ writer: ContentWriter, epoch: Int64) {
    self.writer = writer
    self.epoch = epoch
  }

  func progress() throws -> (Int64, SHA256Digest?) {
    try lock.withLock { _ in (writer.receivedBytes, try writer.digest()) }
  }

  var receivedBytes: Int64 { lock.withLock { _ in writer.receivedBytes } }

  var fault: Fault? { lock.withLock { _ in failed } }

  func fail(_ fault: Fault) { lock.withLock { _ in failed = fault } }

  /// Appends bytes. Blocks.
  func append(_ bytes: [UInt8]) throws {
    try lock.withLock { _ in
      try noting(.write) { try bytes.withUnsafeBytes { try writer.append($0) } }
    }
  }

  /// Keeps the received blocks for a later stream. Blocks.
  func flush() throws { try lock.withLock { _ in try noting(.write) { try writer.file.flush() } } }

  /// Finishes the content. Blocks.
  func finish() throws -> ContentSummary {
    try lock.withLock { _ in try noting(.sync) { try writer.finish() } }
  }

  private func noting<T>(_ fault: Fault, _ body: () throws -> T) throws -> T {
    do {
      return try body()
    } catch {
      switch (error as? RPCError)?.code {
      // Errors about the content are not disk failures.
      case .invalidArgument: break
      case .aborted, .notFound: failed = .taken
      default: failed = fault
      }
      throw error
    }
  }
}
