import CampanileBase
public import NIOCore

/// The deadline of a call, on this machine's monotonic clock.
public struct Deadline: Sendable, Hashable, Comparable {
  public var instant: NIODeadline

  public init(_ instant: NIODeadline) { self.instant = instant }

  /// Returns the deadline `timeout` after `now`, rounded up to milliseconds.
  public static func after(_ timeout: Duration, now: NIODeadline = .now()) -> Deadline {
    after(timeoutMs: timeout.wholeMilliseconds, now: now)
  }

  /// Returns the deadline `timeoutMs` after `now`.
  @inlinable
  package static func after(timeoutMs: Int64, now: NIODeadline = .now()) -> Deadline {
    Deadline(now + .milliseconds(timeoutMs))
  }

  /// Returns the remaining time, zero once the deadline has passed. Rounded up to milliseconds, so that a hop never
  /// turns a short remainder into zero.
  public func remaining(now: NIODeadline = .now()) -> Duration { .milliseconds(remainingMs(now: now)) }

  /// Returns `remaining(now:)` in milliseconds.
  @inlinable
  package func remainingMs(now: NIODeadline = .now()) -> Int64 {
    let nanoseconds = (instant - now).nanoseconds
    return nanoseconds <= 0 ? 0 : (nanoseconds + 999_999) / 1_000_000
  }

  public static func < (a: Deadline, b: Deadline) -> Bool { a.instant < b.instant }
}
