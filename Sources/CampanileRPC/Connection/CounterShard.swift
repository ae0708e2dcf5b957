import NIOCore
import Synchronization

/// The shard of one event loop in `ShardedCounters`.
///
/// A loop keeps its shard for life, and no other loop uses it. Loops beyond `ownMax`, and threads that are not event
/// loops, use `shared`.
public struct CounterShard: Sendable, Hashable {
  /// The shard of all threads without their own. Safe from any thread.
  public static let shared = CounterShard(index: 0)
  /// The maximum number of loops with their own shard. A process has one loop per core; further loops count in the
  /// shared shard, without loss of accuracy.
  static let ownMax = 16
  /// The shard's row; 0 is the shared one.
  let index: Int

  private init(index: Int) { self.index = index }

  private static let known = Mutex<[ObjectIdentifier: CounterShard]>([:])

  /// Returns the shard of `loop`. Must be called on it.
  ///
  /// A new loop at the address of a deallocated one inherits its shard: the two can never run at the same time.
  static func own(of loop: any EventLoop) -> CounterShard {
    known.withLock { known in
      if let shard = known[ObjectIdentifier(loop)] { return shard }
      guard known.count < ownMax else { return .shared }
      let shard = CounterShard(index: known.count + 1)
      known[ObjectIdentifier(loop)] = shard
      return shard
    }
  }
}
