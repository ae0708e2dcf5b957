import NIOCore
import Synchronization

/// A value of its own for each event loop, made when it is first asked for and used on that loop only.
final class LoopLocal<Value>: Sendable {
  private let values = Mutex<[ObjectIdentifier: NIOLoopBound<Value>]>([:])
  private let make: @Sendable (any EventLoop) -> Value

  init(_ make: @escaping @Sendable (any EventLoop) -> Value) { self.make = make }

  /// The value of `loop`. Must be called on it.
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
