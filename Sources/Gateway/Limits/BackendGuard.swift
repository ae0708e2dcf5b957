/// A limit of the calls in progress from one event loop to one backend.
///
/// Bulk calls are refused once half of `callsMax` is in use, or while the event loop is late. Routes mark streams as
/// bulk, too. Other calls are refused at their limit.
struct BackendGuard: Sendable, Hashable {
  enum Refusal: Sendable, Hashable {
    /// The backend has reached its limit.
    case full
    /// The backend is busy, or the event loop is late: bulk calls and new streams have to wait.
    case bulkWaits
  }

  /// May change at run time; calls in progress continue.
  var callsMax: Int
  var streamsMax: Int
  private(set) var calls = 0
  private(set) var streams = 0

  init(callsMax: Int, streamsMax: Int) {
    self.callsMax = callsMax
    self.streamsMax = streamsMax
  }

  /// Admits and counts a call, or returns the reason to refuse it.
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

/// Detects an overloaded event loop by regular ticks that are late several times in a row.
struct LoopLag: Sendable, Hashable {
  /// A single late tick may be a pause of the machine; this many in a row are overload.
  static let lateTicksMin = 3

  let lateMs: Int64
  private var expectedNs: Int64?
  private var lateTicks = 0

  init(lateMs: Int64) { self.lateMs = lateMs }

  var isLate: Bool { lateTicks >= Self.lateTicksMin }

  /// Records a tick; the next one is due after `periodMs`.
  mutating func tick(nowNs: Int64, periodMs: Int64) {
    if let expectedNs { lateTicks = nowNs - expectedNs > lateMs * 1_000_000 ? lateTicks + 1 : 0 }
    expectedNs = nowNs + periodMs * 1_000_000
  }
}
