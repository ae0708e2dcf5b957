import CampanileRPC
import Synchronization

/// Counts the calls that the gateway has refused itself, by reason. Safe from any thread.
///
/// The reasons are the gateway's own; there are at most `reasonsMax`, the others count together.
final class RefusalBoard: Sendable {
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
