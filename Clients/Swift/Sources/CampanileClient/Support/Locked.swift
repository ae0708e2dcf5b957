import Foundation

/// A value that one thread at a time may access. `Mutex` requires newer systems than this package.
package final class Locked<Value>: @unchecked Sendable {
  // `@unchecked` because the compiler cannot know that the lock guards the value.
  private let lock = NSLock()
  private var value: Value

  package init(_ value: sending Value) { self.value = value }

  /// Runs `body` while no other thread accesses the value. `body` must not wait.
  package func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
    -> Result
  {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
