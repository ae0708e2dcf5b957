import DequeModule

/// A request and its outcome.
struct LoggedPush: Sendable, Hashable {
  /// 1 for the first request of this process.
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
  /// The key of the screen; nil for a request without a token or a channel.
  var screenKey: String?
  var bodyBytes: Int
  /// 0 if there was no response.
  var status: Int
  var reason: String?
  var detail: String?
  /// The fault that was applied to the request, its stream or its connection.
  var fault: String?
  /// The cause for which the device ignores the push.
  var discard: Discard?
}

/// A bounded log of the newest pushes.
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

  /// Returns whether every entry after the sequence number is retained.
  func isRetained(after sequence: Int64) -> Bool {
    sequence >= (entries.first.map { $0.sequence - 1 } ?? lastSequence) && sequence <= lastSequence
  }

  /// Returns at most `limit` matching entries before the sequence number, newest first.
  func entries(before sequence: Int64, limit: Int, where isMatch: (LoggedPush) -> Bool) -> [LoggedPush] {
    var found: [LoggedPush] = []
    for push in entries.reversed() where push.sequence < sequence && isMatch(push) {
      guard found.count < limit else { break }
      found.append(push)
    }
    return found
  }

  /// Returns at most `limit` entries after the sequence number, in order.
  func entries(after sequence: Int64, limit: Int) -> [LoggedPush] {
    guard let first = entries.first?.sequence, limit > 0 else { return [] }
    let skipped = Int(Swift.min(Swift.max(0, sequence + 1 - first), Int64(entries.count)))
    return Array(entries[skipped..<Swift.min(entries.count, skipped + limit)])
  }
}
