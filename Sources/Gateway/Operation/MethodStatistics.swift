import CampanileRPC
import Synchronization

/// Counts the calls of one method since the start, for the operator's surface. Safe from any thread.
final class MethodStatistics: Sendable {
  let path: String
  private let counts = LoopCounts(slotCount: 2)
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
      method: path, started: counts.total(Self.started), succeeded: counts.total(Self.succeeded),
      failures: Dictionary(failures.map { ($0.key.name, $0.value) }) { $1 }, latency: latency.filled)
  }

  func callStarted(on lane: LoopLane) { counts.add(1, at: Self.started, on: lane) }

  func callFinished(code: RPCError.Code?, durationNs: Int64, on lane: LoopLane) {
    if let code {
      failures.withLock { $0[code, default: 0] += 1 }
    } else {
      counts.add(1, at: Self.succeeded, on: lane)
    }
    latency.add(ns: durationNs, on: lane)
  }

  private static let started = 0
  private static let succeeded = 1
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

    func callStarted(on lane: LoopLane) {
      inner.callStarted(on: lane)
      statistics.callStarted(on: lane)
    }
    func callFinished(code: RPCError.Code?, durationNs: Int64, on lane: LoopLane) {
      inner.callFinished(code: code, durationNs: durationNs, on: lane)
      statistics.callFinished(code: code, durationNs: durationNs, on: lane)
    }
  }
}
