import Synchronization

/// Decides how long a commit waits for more writes.
///
/// Callers that have just got an answer often write again at once. Without a short wait, the next commit would have
/// only the writes that arrived during the last one, which is half of them.
struct Gathering: ~Copyable {
  static let pauseUs = 50

  private let expected = Atomic(0)
  private let lastNs = Atomic<Int64>(0)

  /// Notes the end of a commit, with the number of writes in it and waiting for the next one.
  func expect(_ writes: Int, after begun: ContinuousClock.Instant) {
    expected.store(writes, ordering: .relaxed)
    lastNs.store((ContinuousClock.now - begun).nanoseconds, ordering: .relaxed)
  }

  /// Whether to wait for more than the writes that have joined a commit: for an eighth of the last commit's time.
  func isWorthwhile(_ joined: Int, _ begun: ContinuousClock.Instant, limitNs: Int64) -> Bool {
    guard limitNs > 0, joined < expected.load(ordering: .relaxed) else { return false }
    return (ContinuousClock.now - begun).nanoseconds < min(limitNs, lastNs.load(ordering: .relaxed) / 8)
  }
}
