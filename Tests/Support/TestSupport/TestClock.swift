import Synchronization

/// A clock that changes only when a test sets it, in milliseconds since 1970.
package final class TestClock: Sendable {
  private let value: Mutex<Int64>

  /// Creates a clock, which by default shows 2026-02-02T02:40:00Z.
  package init(_ nowMs: Int64 = 1_770_000_000_000) { value = Mutex(nowMs) }

  package var nowMs: Int64 {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }

  package func advance(ms: Int64) { value.withLock { $0 += ms } }
}
