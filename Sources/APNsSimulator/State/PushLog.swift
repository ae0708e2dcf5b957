import DequeModule

/// A request as it was answered.
struct LoggedPush: Sendable, Hashable {
  /// 1 for the first of this process.
  var sequence: Int64
  var receivedAtMs: Int64
  var connection: Int
  var path: String
  var topic: String?
  var pushType: String?
  var priority: String?
  var expiration: String?
  var collapseID: String?
  var id: String
  var bodyBytes: Int
  /// 0 when the request was not answered.
  var status: Int
  var reason: String?
  var detail: String?
  /// What happened to the connection or stream, beside an answer.
  var fault: String?
  /// Why the device ignores it.
  var discard: Discard?
}

/// The newest pushes, a bounded number.
struct PushLog: Sendable {
  private var entries: Deque<LoggedPush> = []
  private let countMax: Int
  private(set) var lastSequence: Int64 = 0

  init(countMax: Int) { self.countMax = countMax }

  mutating func append(_ push: LoggedPush) {
    guard countMax > 0 else { return }
    lastSequence += 1
    if entries.count >= countMax { entries.removeFirst() }
    var push = push
    push.sequence = lastSequence
    entries.append(push)
  }

  mutating func removeAll() { entries.removeAll() }

  /// At most `limit` entries after the sequence number, in order.
  func entries(after sequence: Int64, limit: Int) -> [LoggedPush] {
    guard let first = entries.first?.sequence, limit > 0 else { return [] }
    let skipped = Int(Swift.min(Swift.max(0, sequence + 1 - first), Int64(entries.count)))
    return Array(entries[skipped..<Swift.min(entries.count, skipped + limit)])
  }
}
