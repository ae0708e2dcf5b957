import CampanileBase
import CampanileRPC
import Synchronization

/// Counts the calls that the gateway itself has refused, by reason. Thread-safe.
///
/// At most `reasonsMax` reasons are counted individually, the others together.
final class RefusalCounts: Sendable {
  static let reasonsMax = 64
  static let other = "_OTHER"

  private let counts = Mutex<[String: Int]>([:])

  func count(_ error: RPCError) {
    counts.withLock { counts in
      let reason = counts[error.reason] != nil || counts.count < Self.reasonsMax ? error.reason : Self.other
      counts[reason, default: 0] += 1
    }
  }

  var all: [String: Int] { counts.withLock { $0 } }
}
