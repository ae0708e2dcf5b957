import CampanileBase
import CampanileService
import Synchronization

/// The newest ends of pushes in the order of their commits, in memory. The delivery log has them by id, which is the
/// order of queueing.
final class PushEnds: Sendable {
  /// The scope of resume tokens, and the name of all watchers at the hub. No user has it.
  static let scope = "*"
  static let countMax = 10_000

  private let log: Mutex<RecentLog<String>>
  /// Wakes the watches after each append.
  let hub: WatchHub

  init(epoch: UInt64, hub: WatchHub, countMax: Int = PushEnds.countMax) {
    log = Mutex(RecentLog(epoch: epoch, countMax: countMax))
    self.hub = hub
  }

  func append(_ ids: [String]) {
    guard !ids.isEmpty else { return }
    log.withLock { log in for id in ids { log.append(id) } }
    hub.notify(user: Self.scope)
  }

  var present: String { log.withLock { $0.present }.text(user: Self.scope) }

  /// Throws INVALID_ARGUMENT for a token of another list, and OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func start(resumeToken: String) throws(RPCError) -> ResumeToken {
    try log.withLock { log throws(RPCError) in try log.start(resumeToken: resumeToken, scope: Self.scope) }
  }

  /// Returns the ids after a position, at most `limit`. Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func ids(after position: ResumeToken, limit: Int) throws(RPCError) -> [String] {
    try log.withLock { log throws(RPCError) in try log.entries(after: position.sequence, limit: limit) }
  }
}
