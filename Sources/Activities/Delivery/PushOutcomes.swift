import APNs
import Synchronization

/// Counts requests to APNs by outcome. Safe from any thread.
final class PushOutcomes: Sendable {
  private struct Key: Hashable {
    var status: String
    var reason: String
  }

  private let counts = Mutex<[Key: Int]>([:])

  func count(_ outcome: PushOutcome) {
    let key = Self.key(outcome)
    counts.withLock { $0[key, default: 0] += 1 }
  }

  var all: [(status: String, reason: String, count: Int)] {
    counts.withLock { counts in counts.map { ($0.key.status, $0.key.reason, $0.value) } }
  }

  /// Returns the metric labels of an outcome. Unknown reasons and statuses count as `_OTHER`, because they come from
  /// outside and must not add labels.
  private static func key(_ outcome: PushOutcome) -> Key {
    switch outcome {
    case .answered(let answer):
      let status = [200, 400, 403, 404, 405, 410, 413, 429, 500, 503].contains(answer.status)
      let isKnown = answer.reason.isEmpty || APNsReason.known(answer.reason) != nil
      return Key(status: status ? String(answer.status) : "_OTHER", reason: isKnown ? answer.reason : "_OTHER")
    case .unprocessed: return Key(status: "none", reason: "unprocessed")
    case .lost: return Key(status: "none", reason: "lost")
    }
  }
}
