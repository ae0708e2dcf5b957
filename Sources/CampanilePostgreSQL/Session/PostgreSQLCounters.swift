import Synchronization

/// Counters of an engine's connections since it was created.
public struct PostgreSQLMetrics: Sendable, Hashable {
  /// Number of times that buffered statements were sent.
  public var flushes: Int64 = 0
  /// Number of times that a thread waited for an answer.
  public var roundTrips: Int64 = 0
  /// Connections opened in place of lost ones.
  public var reconnects: Int64 = 0
  /// Reads run again because their idle connection had ended.
  public var retries: Int64 = 0
  /// Commits whose answer was lost and which were found to have taken effect.
  public var recoveredCommits: Int64 = 0
  /// Commits whose answer was lost and which were found to have failed, or whose outcome stayed unknown.
  public var lostCommits: Int64 = 0
}

/// The counters behind `PostgreSQLMetrics`, shared by an engine's connections.
final class PostgreSQLCounters: Sendable {
  private let flushes = Atomic<Int64>(0)
  private let roundTrips = Atomic<Int64>(0)
  private let reconnects = Atomic<Int64>(0)
  private let retries = Atomic<Int64>(0)
  private let recoveredCommits = Atomic<Int64>(0)
  private let lostCommits = Atomic<Int64>(0)
  private let lastCondition = Mutex<ServerCondition?>(nil)

  func addFlush() { flushes.add(1, ordering: .relaxed) }
  func addRoundTrip() { roundTrips.add(1, ordering: .relaxed) }
  func addReconnect() { reconnects.add(1, ordering: .relaxed) }
  func addRetry() { retries.add(1, ordering: .relaxed) }
  func addRecoveredCommit() { recoveredCommits.add(1, ordering: .relaxed) }
  func addLostCommit() { lostCommits.add(1, ordering: .relaxed) }

  /// The server's state when the writer last asked; nil before.
  var condition: ServerCondition? {
    get { lastCondition.withLock { $0 } }
    set { lastCondition.withLock { $0 = newValue } }
  }

  var snapshot: PostgreSQLMetrics {
    PostgreSQLMetrics(
      flushes: flushes.load(ordering: .relaxed), roundTrips: roundTrips.load(ordering: .relaxed),
      reconnects: reconnects.load(ordering: .relaxed), retries: retries.load(ordering: .relaxed),
      recoveredCommits: recoveredCommits.load(ordering: .relaxed), lostCommits: lostCommits.load(ordering: .relaxed))
  }
}
