package import CampanileBase
import Synchronization

/// Counts a server's connections and calls by method. Safe to use from any thread.
///
/// `/metrics` and the gateway's operator pages read the same counts.
public final class CallMetrics: ServerObserver {
  private let connections = Atomic<Int>(0)
  /// By path; nil stands for all unknown methods.
  private let methods = Mutex<[String?: MethodMetrics]>([:])

  public init() {}

  public func connectionOpened() { connections.wrappingAdd(1, ordering: .relaxed) }
  public func connectionClosed() { connections.wrappingSubtract(1, ordering: .relaxed) }

  /// Returns the recorder of a method, always the same one. A nil method stands for all unknown methods.
  public func recorder(for method: MethodDescriptor?) -> any MethodRecorder {
    methods.withLock { methods in
      if let known = methods[method?.path] { return known }
      let made = MethodMetrics(method)
      methods[method?.path] = made
      return made
    }
  }

  package var openConnections: Int { connections.load(ordering: .relaxed) }

  /// The number of open calls. It may miss calls that start or end during the sum.
  package var openCalls: Int { max(0, all.reduce(0) { $0 + $1.openCalls }) }

  package var all: [MethodMetrics] { methods.withLock { Array($0.values) } }
}

/// The counts of one method's calls since the start.
///
/// A successful call costs four additions to sharded counters. On two cores, unsharded ones cost 1 % of an echo call.
package final class MethodMetrics: MethodRecorder {
  /// The name for all unknown methods together, so that callers cannot invent names.
  package static let other = "_OTHER"

  private enum Slot {
    static let started = 0
    static let succeeded = 1
    static let count = 2
  }

  /// Buckets of durations in microseconds. Durations of 67 s and more are counted in the last.
  package static let durationBuckets = LogLinearBuckets(
    precisionBits: 3, powerMax: 26,
    bounds: [
      100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
      5_000_000, 10_000_000,
    ])

  /// Nil for all unknown methods.
  package let method: MethodDescriptor?
  /// The durations of successful and failed calls.
  package let durations = LogLinearHistogram(durationBuckets)
  private let counts = ShardedCounters(slotCount: Slot.count)
  // Locked for failures only.
  private let failureCounts = Mutex<[RPCError.Code: Int]>([:])

  init(_ method: MethodDescriptor?) { self.method = method }

  package var started: Int { counts.total(Slot.started) }
  package var succeeded: Int { counts.total(Slot.succeeded) }
  package var failures: [RPCError.Code: Int] { failureCounts.withLock { $0 } }
  var openCalls: Int { started - succeeded - failures.values.reduce(0, +) }

  package func callStarted(on shard: CounterShard) { counts.add(1, at: Slot.started, on: shard) }

  package func callFinished(code: RPCError.Code?, durationNs: Int64, on shard: CounterShard) {
    if let code { failed(code) } else { counts.add(1, at: Slot.succeeded, on: shard) }
    durations.add(durationNs, on: shard)
  }

  // Not inlined, so that a successful call saves no registers for it.
  @inline(never)
  private func failed(_ code: RPCError.Code) { failureCounts.withLock { $0[code, default: 0] += 1 } }
}
