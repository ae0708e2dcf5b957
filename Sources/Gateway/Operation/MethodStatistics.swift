import CampanileRPC
import Synchronization

/// Counts the calls of one method since the start, for the operator's surface. Safe from any thread.
final class MethodStatistics: Sendable {
  let path: String
  private let started = Atomic<Int>(0)
  private let succeeded = Atomic<Int>(0)
  // Taken for failures only.
  private let failures = Mutex<[RPCError.Code: Int]>([:])
  private let latency = LatencyHistogram()

  init(path: String) { self.path = path }

  /// What is told of a method.
  struct Facts: Sendable, Hashable, Encodable {
    var method: String
    var started: Int
    var succeeded: Int
    /// By the codes' names.
    var failures: [String: Int]
    /// `[lowerUs, upperUs, count]`, successes and failures together.
    var latency: [[Int64]]
  }

  var facts: Facts {
    let failures = failures.withLock { $0 }
    return Facts(
      method: path, started: started.load(ordering: .relaxed), succeeded: succeeded.load(ordering: .relaxed),
      failures: Dictionary(failures.map { ($0.key.name, $0.value) }) { $1 }, latency: latency.filled)
  }

  func callStarted() { started.add(1, ordering: .relaxed) }

  func callFinished(code: RPCError.Code?, durationNs: Int64) {
    if let code {
      failures.withLock { $0[code, default: 0] += 1 }
    } else {
      succeeded.add(1, ordering: .relaxed)
    }
    latency.add(ns: durationNs)
  }
}

/// The statistics of all methods; those that no table describes have one together.
final class StatisticsBoard: Sendable {
  static let other = "_OTHER"
  private let methods = Mutex<[String: MethodStatistics]>([:])

  /// The same object for the same method, whoever asks.
  func statistics(of method: MethodDescriptor?) -> MethodStatistics {
    let path = method?.path ?? Self.other
    return methods.withLock { methods in
      if let known = methods[path] { return known }
      let made = MethodStatistics(path: path)
      methods[path] = made
      return made
    }
  }

  /// Of the methods that were called, by their names.
  var facts: [MethodStatistics.Facts] {
    methods.withLock { Array($0.values) }.map(\.facts).filter { $0.started > 0 }.sorted { $0.method < $1.method }
  }
}

/// Tells what a server does to the statistics as well as to another observer.
struct CountingObserver: ServerObserver {
  let inner: any ServerObserver
  let board: StatisticsBoard

  func connectionOpened() { inner.connectionOpened() }
  func connectionClosed() { inner.connectionClosed() }
  func recorder(for method: MethodDescriptor?) -> any MethodRecorder {
    Recorder(inner: inner.recorder(for: method), statistics: board.statistics(of: method))
  }

  private final class Recorder: MethodRecorder {
    private let inner: any MethodRecorder
    private let statistics: MethodStatistics

    init(inner: any MethodRecorder, statistics: MethodStatistics) {
      self.inner = inner
      self.statistics = statistics
    }

    func callStarted() {
      inner.callStarted()
      statistics.callStarted()
    }
    func callFinished(code: RPCError.Code?, durationNs: Int64) {
      inner.callFinished(code: code, durationNs: durationNs)
      statistics.callFinished(code: code, durationNs: durationNs)
    }
  }
}
