public import NIOCore

/// The moment at which a call's time is up, on the monotonic clock of this machine.
public struct Deadline: Sendable, Hashable, Comparable {
  public var instant: NIODeadline

  public init(_ instant: NIODeadline) { self.instant = instant }

  /// `timeoutMs` from `now`.
  public static func after(timeoutMs: Int64, now: NIODeadline = .now()) -> Deadline {
    Deadline(now + .milliseconds(timeoutMs))
  }

  /// What is left of it, 0 once it has passed; rounded up, so that a hop never turns a little time into none.
  public func remainingMs(now: NIODeadline = .now()) -> Int64 {
    let nanoseconds = (instant - now).nanoseconds
    return nanoseconds <= 0 ? 0 : (nanoseconds + 999_999) / 1_000_000
  }

  public static func < (a: Deadline, b: Deadline) -> Bool { a.instant < b.instant }
}
