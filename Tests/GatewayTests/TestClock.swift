import Synchronization

/// A clock that changes only when a test sets it.
final class TestClock: Sendable {
  private let value: Mutex<Int64>
  init(_ now: Int64) { value = Mutex(now) }
  var now: Int64 {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }
}
