import NIOCore
import Synchronization

/// One value per event loop, created at first use and used on that loop only.
final class LoopLocal<Value>: Sendable {
  private let values = Mutex<[ObjectIdentifier: NIOLoopBound<Value>]>([:])
  private let make: @Sendable (any EventLoop) -> Value

  init(_ make: @escaping @Sendable (any EventLoop) -> Value) { self.make = make }

  /// Returns the value of `loop`. Must be called on it.
  func value(on loop: any EventLoop) -> Value {
    values.withLock { known in
      let key = ObjectIdentifier(loop)
      if let bound = known[key] { return bound }
      let bound = NIOLoopBound(make(loop), eventLoop: loop)
      known[key] = bound
      return bound
    }.value
  }
}
