/// How much one event loop has under way with one backend, and what it refuses so that the rest is served well.
///
/// Calls that may wait go first: bulk calls and new streams are refused from half of the limit on, others at the limit.
struct BackendGuard: Sendable, Hashable {
  enum Refusal: Sendable, Hashable {
    /// The backend has as much as it may have.
    case full
    /// The backend has so much that what may wait has to.
    case bulkWaits
  }

  /// May change under way: what was let in stays.
  var callsMax: Int
  var streamsMax: Int
  private(set) var calls = 0
  private(set) var streams = 0

  init(callsMax: Int, streamsMax: Int) {
    self.callsMax = callsMax
    self.streamsMax = streamsMax
  }

  /// Counts a call in, or says why it is refused.
  @inline(__always)
  mutating func enter(isStream: Bool, isBulk: Bool, isLoopLate: Bool) -> Refusal? {
    if isBulk, isLoopLate || calls >= (callsMax + 1) / 2 { return .bulkWaits }
    if isStream {
      guard streams < streamsMax else { return .full }
      streams += 1
    } else {
      guard calls < callsMax else { return .full }
      calls += 1
    }
    return nil
  }

  @inline(__always)
  mutating func leave(isStream: Bool) { if isStream { streams -= 1 } else { calls -= 1 } }
}

/// Whether an event loop has more to do than it can: told from how late a regular tick comes, several times in a row.
struct LoopLag: Sendable, Hashable {
  /// One late tick is a pause of the machine's; so many are a load.
  static let lateTicksMin = 3

  let lateMs: Int64
  private var expectedNs: Int64?
  private var lateTicks = 0

  init(lateMs: Int64) { self.lateMs = lateMs }

  var isLate: Bool { lateTicks >= Self.lateTicksMin }

  /// A tick came; the next one is due after `periodMs`.
  mutating func tick(nowNs: Int64, periodMs: Int64) {
    if let expectedNs { lateTicks = nowNs - expectedNs > lateMs * 1_000_000 ? lateTicks + 1 : 0 }
    expectedNs = nowNs + periodMs * 1_000_000
  }
}
