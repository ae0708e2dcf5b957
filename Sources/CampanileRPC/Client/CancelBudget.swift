internal import NIOCore

/// A rate limit that keeps a client's cancels below the flood limit of its server.
///
/// Cancels beyond the limit are sent in the next window. The delay is harmless because the caller already has its
/// outcome.
struct CancelBudget {
  private let countMax: Int
  private let windowMs: Int64
  private static let deferredMax = 10_000
  private var windowStart: NIODeadline
  private var count = 0
  private(set) var deferred: [UInt64] = []

  /// Creates a budget of three quarters of the control frames that the server accepts: pings count as well.
  init(_ server: ServerHello, now: NIODeadline) {
    countMax = max(1, server.controlFramesMax * 3 / 4)
    windowMs = server.floodWindowMs
    windowStart = now
  }

  /// Returns whether the cancel of `id` may be sent now; otherwise defers it.
  mutating func admit(_ id: UInt64, now: NIODeadline) -> Bool {
    turn(now)
    if count < countMax {
      count += 1
      return true
    }
    // A dropped cancel leaves the call to end by the server's deadline or with the connection.
    if deferred.count < Self.deferredMax { deferred.append(id) }
    return false
  }

  /// Removes and returns the deferred cancels that may be sent now.
  mutating func due(now: NIODeadline) -> [UInt64] {
    guard !deferred.isEmpty else { return [] }
    turn(now)
    let taken = Array(deferred.prefix(countMax - count))
    deferred.removeFirst(taken.count)
    count += taken.count
    return taken
  }

  private mutating func turn(_ now: NIODeadline) {
    guard now - windowStart >= .milliseconds(windowMs) else { return }
    windowStart = now
    count = 0
  }
}
