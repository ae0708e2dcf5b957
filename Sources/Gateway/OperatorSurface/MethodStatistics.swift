import CampanileBase
import CampanileRPC
import Synchronization

/// Counters of one method's calls since the start, for the operator's pages. Thread-safe.
final class MethodStatistics: Sendable {
  let path: String
  private let counts = ShardedCounters(slotCount: 2)
  // Locked for failures only.
  private let failures = Mutex<[RPCError.Code: Int]>([:])
  private let latency = LatencyHistogram()

  init(path: String) { self.path = path }

  /// The statistics of a method, as JSON.
  struct Snapshot: Sendable, Hashable, Encodable {
    var method: String
    var started: Int
    var succeeded: Int
    /// By the names of the codes.
    var failures: [String: Int]
    /// `[lowerUs, upperUs, count]`, for successes and failures together.
    var latency: [[Int64]]
  }

  var snapshot: Snapshot {
    let failures = failures.withLock { $0 }
    return Snapshot(
      method: path, started: counts.total(Self.started), succeeded: counts.total(Self.succeeded),
      failures: Dictionary(failures.map { ($0.key.name, $0.value) }) { $1 }, latency: latency.filled)
  }

  func callStarted(on shard: CounterShard) { counts.add(1, at: Self.started, on: shard) }

  func callFinished(code: RPCError.Code?, durationNs: Int64, on shard: CounterShard) {
    if let code {
      failures.withLock { $0[code, default: 0] += 1 }
    } else {
      counts.add(1, at: Self.succeeded, on: shard)
    }
    latency.add(ns: durationNs, on: shard)
  }

  private static let started = 0
  private static let succeeded = 1
}

/// The statistics of all methods. Methods that no table describes share one entry.
final class MethodStatisticsTable: Sendable {
  static let other = "_OTHER"
  private let methods = Mutex<[String: MethodStatistics]>([:])

  /// Returns the one statistics object of a method.
  func statistics(of method: MethodDescriptor?) -> MethodStatistics {
    let path = method?.path ?? Self.other
    return methods.withLock { methods in
      if let known = methods[path] { return known }
      let made = MethodStatistics(path: path)
      methods[path] = made
      return made
    }
  }

  /// The statistics of the methods that have been called, sorted by name.
  var snapshots: [MethodStatistics.Snapshot] {
    methods.withLock { Array($0.values) }.map(\.snapshot).filter { $0.started > 0 }.sorted { $0.method < $1.method }
  }
}

/// Counts a server's calls, and forwards every event to another observer.
struct CountingObserver: ServerObserver {
  let inner: any ServerObserver
  let statistics: MethodStatisticsTable

  func connectionOpened() { inner.connectionOpened() }
  func connectionClosed() { inner.connectionClosed() }
  func recorder(for method: MethodDescriptor?) -> any MethodRecorder {
    Recorder(inner: inner.recorder(for: method), statistics: statistics.statistics(of: method))
  }

  private final class Recorder: MethodRecorder {
    private let inner: any MethodRecorder
    private let statistics: MethodStatistics

    init(inner: any MethodRecorder, statistics: MethodStatistics) {
      self.inner = inner
      self.statistics = statistics
    }

    func callStarted(on shard: CounterShard) {
      inner.callStarted(on: shard)
      statistics.callStarted(on: shard)
    }
    func callFinished(code: RPCError.Code?, durationNs: Int64, on shard: CounterShard) {
      inner.callFinished(code: code, durationNs: durationNs, on: shard)
      statistics.callFinished(code: code, durationNs: durationNs, on: shard)
    }
  }
}
