import Synchronization

/// A clock that changes only when a test sets it.
///
/// Pass it as the `any Clock<Duration>` of the code under test, or its `nowMs` to code that takes the time of day.
public final class TestClock: Clock {
  /// A time since the beginning of 1970 (UTC).
  public struct Instant: InstantProtocol {
    fileprivate var sinceEpoch: Duration

    public func advanced(by duration: Duration) -> Instant { Instant(sinceEpoch: sinceEpoch + duration) }
    public func duration(to other: Instant) -> Duration { other.sinceEpoch - sinceEpoch }
    public static func < (left: Instant, right: Instant) -> Bool { left.sinceEpoch < right.sinceEpoch }
  }

  private struct State {
    var now: Instant
    var sleepers: [UInt64: (until: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
    var nextID: UInt64 = 0
  }
  private let state: Mutex<State>

  /// Creates a clock, which by default shows 2026-02-02T02:40:00Z.
  public init(_ nowMs: Int64 = 1_770_000_000_000) {
    state = Mutex(State(now: Instant(sinceEpoch: .milliseconds(nowMs))))
  }

  public var now: Instant { state.withLock { $0.now } }
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// The time in milliseconds since 1970. A later time wakes the tasks that sleep until then.
  public var nowMs: Int64 {
    get {
      // A quotient of durations is rounded, and truncation would then lose a millisecond.
      let (seconds, attoseconds) = now.sinceEpoch.components
      return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }
    set { set { _ in Instant(sinceEpoch: .milliseconds(newValue)) } }
  }

  /// Adds to the time, and wakes the tasks that sleep until then.
  public func advance(by duration: Duration) { set { $0.advanced(by: duration) } }

  /// Waits until the clock shows `deadline`.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome: Result<Void, any Error>? = state.withLock { state in
          // A later cancellation finds the sleeper.
          if Task.isCancelled { return .failure(CancellationError()) }
          if deadline <= state.now { return .success(()) }
          state.sleepers[id] = (deadline, continuation)
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Waits until `count` tasks sleep, so that the next change of the time wakes them.
  ///
  /// - Throws: `CancellationError` if the task is cancelled first.
  public func waitForSleepers(_ count: Int = 1) async throws {
    while state.withLock({ $0.sleepers.count }) < count { try await Task.sleep(for: .milliseconds(1)) }
  }

  private func set(_ change: (Instant) -> Instant) {
    let woken = state.withLock { state in
      state.now = change(state.now)
      let due = state.sleepers.filter { $0.value.until <= state.now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in woken { continuation.resume() }
  }
}
