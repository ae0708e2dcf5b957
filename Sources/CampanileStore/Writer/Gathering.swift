import Synchronization

/// Decides how long a commit waits for more writes.
///
/// Callers that have just got an answer often write again at once. Without a short wait, the next commit would have
/// only the writes that arrived during the last one, which is half of them.
struct Gathering: ~Copyable {
  static let pauseUs: UInt32 = 50

  /// Maximum wait; 0 to never wait.
  private let limitNs: Int64
  private let expectedWrites = Atomic(0)
  private let lastNs = Atomic<Int64>(0)

  init(limitNs: Int64) { self.limitNs = limitNs }

  /// Notes the end of a commit: its callers, and those that wait for the next one, are expected to write.
  func note(_ commit: CommitObservation, writesMax: Int) {
    guard limitNs > 0 else { return }
    expectedWrites.store(min(writesMax, commit.writes + commit.pendingWrites), ordering: .relaxed)
    lastNs.store(commit.transactionNs, ordering: .relaxed)
  }

  /// Whether to wait for more than the writes that have joined a commit. Waits for an eighth of the last commit's time.
  func isWorthwhile(_ joinedWrites: Int, _ begun: ContinuousClock.Instant) -> Bool {
    guard limitNs > 0, joinedWrites < expectedWrites.load(ordering: .relaxed) else { return false }
    return (ContinuousClock.now - begun).nanoseconds < min(limitNs, lastNs.load(ordering: .relaxed) / 8)
  }
}
