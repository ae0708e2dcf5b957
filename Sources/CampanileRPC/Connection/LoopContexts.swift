import NIOCore
import Synchronization

/// The contexts of a group's event loops, one each, made when first asked for.
final class LoopContexts: Sendable {
  private let contexts = Mutex<[ObjectIdentifier: NIOLoopBound<LoopContext>]>([:])

  /// The context of `loop`. Must be called on it.
  func context(of loop: any EventLoop) -> LoopContext {
    contexts.withLock { known in
      let key = ObjectIdentifier(loop)
      if let bound = known[key] { return bound }
      let bound = NIOLoopBound(LoopContext(loop), eventLoop: loop)
      known[key] = bound
      return bound
    }.value
  }
}
