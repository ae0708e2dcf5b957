import NIOCore
import Synchronization

/// Which of the counts that event loops keep apart are those of one loop; see `LoopCounts`.
///
/// A loop has the same lane for as long as it lives, and no other loop has it. Loops beyond `ownMax`, and threads that are no loop, have
/// `shared`.
public struct LoopLane: Sendable, Hashable {
  /// That of everybody who has none of its own. Safe from any thread.
  public static let shared = LoopLane(index: 0)
  /// A process has one loop for each of its cores; beyond so many, counting is shared again, and no less right.
  static let ownMax = 16
  /// 0 is shared.
  let index: Int

  private init(index: Int) { self.index = index }

  private static let known = Mutex<[ObjectIdentifier: LoopLane]>([:])

  /// That of `loop`, which must be called on it.
  ///
  /// Should the loop be gone and another one be at its place, it has the same lane: it cannot run while the first one did.
  static func own(of loop: any EventLoop) -> LoopLane {
    known.withLock { known in
      if let lane = known[ObjectIdentifier(loop)] { return lane }
      guard known.count < ownMax else { return .shared }
      let lane = LoopLane(index: known.count + 1)
      known[ObjectIdentifier(loop)] = lane
      return lane
    }
  }
}
