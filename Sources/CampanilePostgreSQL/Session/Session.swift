import CPostgreSQL
import CampanileStore

/// A session with a server: one libpq connection in pipeline mode, the commands whose answers are due, and their
/// results. Used by one thread at a time.
///
/// Commands are buffered and sent together. A failed command makes the server skip the others up to the next sync, so
/// at most one failure is reported for each sync.
final class Session {
  let handle: OpaquePointer
  let place: String
  let counters: PostgreSQLCounters
  let notices = NoticeBox()
  /// Identifies the session in `store_commits`.
  let number = Int64.random(in: 1 ... .max)
  /// Maximum time without a sign of life while an answer is due.
  var silenceMsMax: Int

  /// The reason why the session ended; nil while it is usable.
  var lost: StoreError?
  /// Whether the session ended because the server was silent.
  var isSilent = false
  /// The first failure since the last `takeFailure`.
  var failure: ServerFailure?
  /// The answer to the last COMMIT that the server completed.
  var commitAnswer: CommitAnswer?
  /// The commands whose answers are due.
  var commands = CommandQueue()
  /// Whether the first of the commands has been answered, but not ended.
  var hasResult = false
  /// The result of the last wanted command.
  var wanted: OpaquePointer?
  /// Bytes of commands that libpq may still hold, without its own headers.
  var bufferedBytes = 0
  /// Whether a part of the commands since the last sync was sent before it.
  var hasSentEarly = false
  /// Whether commands were queued since the last sync.
  var needsSync = false
  /// Whether the last results are being taken, because the session ends.
  var isTakingLast = false
  private var isFinished = false

  /// Takes over a connection that is established.
  init(_ handle: OpaquePointer, place: String, silenceMsMax: Int, counters: PostgreSQLCounters) {
    self.handle = handle
    self.place = place
    self.silenceMsMax = silenceMsMax
    self.counters = counters
    notices.attach(to: handle)
  }

  deinit { finish() }

  /// Closes the connection.
  func finish() {
    guard !isFinished else { return }
    isFinished = true
    if lost == nil { lost = StoreError(.closed, "the connection is closed", path: place) }
    if let wanted { PQclear(wanted) }
    wanted = nil
    PQfinish(handle)
  }
}
