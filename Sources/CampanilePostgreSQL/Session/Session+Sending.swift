import CPostgreSQL
import CampanileStore

extension Session {
  /// Buffered bytes that are sent without waiting for more, so that the server works while the client continues. The
  /// first message is sent early, because the server is idle until then. libpq itself sends each full 8 KiB.
  private static let firstBytesMax = 4 << 10
  /// Bytes after which the results that have arrived are taken. Up to here, a commit is flushed three times at most.
  private static let bufferedBytesMax = 256 << 10

  /// Sends COMMIT.
  func commit() throws(StoreError) {
    commitAnswer = nil
    notices.warning = nil
    try send(Command(kind: .commit), ControlStatement.commit.name)
  }

  /// Sends a prepared statement.
  func send(_ command: Command, _ name: String, _ parameters: ParameterBuffer? = nil) throws(StoreError) {
    if let lost { throw lost }
    let isQueued =
      if let parameters {
        PQsendQueryPrepared(
          handle, name, parameters.count, parameters.values, parameters.lengths, parameters.formats, 1)
      } else {
        PQsendQueryPrepared(handle, name, 0, nil, nil, nil, 1)
      }
    try queued(command, isQueued, bytes: 64 + (parameters?.sizeBytes ?? 0))
  }

  /// Sends a statement without arguments that is not worth preparing.
  func send(_ command: Command, text: String) throws(StoreError) {
    if let lost { throw lost }
    try queued(command, PQsendQueryParams(handle, text, 0, nil, nil, nil, nil, 1), bytes: 64 + text.utf8.count)
  }

  func prepare(_ name: String, _ text: String) throws(StoreError) {
    if let lost { throw lost }
    try queued(Command(kind: .prepare), PQsendPrepare(handle, name, text, 0, nil), bytes: 64 + text.utf8.count)
  }

  func describe(_ name: String) throws(StoreError) {
    if let lost { throw lost }
    try queued(Command(kind: .prepare, isWanted: true), PQsendDescribePrepared(handle, name), bytes: 16)
  }

  /// Ends the group of commands that one failure skips.
  func sync() throws(StoreError) {
    if let lost { throw lost }
    try queued(.sync, PQpipelineSync(handle), bytes: 0)
    needsSync = false
    // libpq has sent its buffer with it.
    bufferedBytes = 0
    hasSentEarly = false
    counters.addFlush()
  }

  private func queued(_ command: Command, _ isQueued: Int32, bytes: Int) throws(StoreError) {
    guard isQueued == 1 else { throw end(PQerrorMessage(handle).map { String(cString: $0) } ?? "") }
    commands.append(command)
    needsSync = true
    bufferedBytes += bytes
  }

  /// Sends the buffered commands if they are worth it, and takes the results that have arrived. If neither side
  /// emptied its buffer, both would wait for the other one.
  ///
  /// - Parameter isEarly: Whether the first message is sent early.
  func sendIfWorthwhile(isEarly: Bool = true) throws(StoreError) {
    guard bufferedBytes >= (isEarly && !hasSentEarly ? Self.firstBytesMax : Self.bufferedBytesMax) else { return }
    bufferedBytes = 0
    hasSentEarly = true
    counters.addFlush()
    try flush()
    guard PQconsumeInput(handle) == 1 else { throw end(message) }
    takeAvailable()
  }

  /// Sends the buffered commands at once.
  func flushEarly() throws(StoreError) {
    bufferedBytes = 0
    counters.addFlush()
    try flush()
  }

  /// Hands the buffer over to the kernel.
  func flush() throws(StoreError) {
    if let lost { throw lost }
    while try hasUnsentBytes() { try waitForSocket(orWritable: true) }
  }

  /// Whether the kernel has not taken everything. Tries it first.
  func hasUnsentBytes() throws(StoreError) -> Bool {
    let state = PQflush(handle)
    guard state >= 0 else { throw end(message) }
    return state == 1
  }
}
