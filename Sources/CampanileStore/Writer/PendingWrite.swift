import CampanileBase
import Dispatch
import Synchronization

/// A write in progress: created, queued, then either run by the writer or cancelled by its caller, whichever comes
/// first.
class PendingWrite: @unchecked Sendable {
  // `@unchecked`: subclasses store their result between the run and the end of the commit, both on the writer's thread.
  // Only the atomic stage is shared between threads.

  enum Stage: UInt8, AtomicRepresentable {
    case created, queued, running, cancelled
  }

  private let stage = Atomic(Stage.created)
  /// The queries to ask before the write runs; nil if they are not known.
  let ahead: ReadAhead?

  init(_ ahead: ReadAhead?) { self.ahead = ahead }

  /// Advances the stage. Returns false if it is no longer `from`.
  final func advance(from: Stage, to next: Stage) -> Bool {
    stage.compareExchange(expected: from, desired: next, ordering: .acquiringAndReleasing).exchanged
  }

  final var isCancelled: Bool { stage.load(ordering: .acquiring) == .cancelled }

  /// Runs the body and stores its result for `finish`. Rethrows errors of the body.
  func run(in transaction: WriteTransaction) throws {}

  /// Resumes the caller with the result of `run`, or with `failure`.
  func finish(_ failure: (any Error)?) {}
}

/// A write with the type of its result.
final class TypedWrite<Value: Sendable>: PendingWrite, @unchecked Sendable {
  private let body: @Sendable (WriteTransaction) throws -> Value
  private let scope: CallScope?
  private var value: Value?
  /// Set before the write is queued; used once, after it has left the queue.
  var continuation: UnsafeContinuation<Value, any Error>?

  init(_ scope: CallScope?, _ ahead: ReadAhead?, _ body: @escaping @Sendable (WriteTransaction) throws -> Value) {
    self.scope = scope
    self.body = body
    super.init(ahead)
  }

  override func run(in transaction: WriteTransaction) throws {
    guard let scope else { return value = try body(transaction) }
    value = try CallScope.$current.withValue(scope) { try body(transaction) }
  }

  override func finish(_ failure: (any Error)?) {
    guard let continuation else { return }
    self.continuation = nil
    if let failure {
      continuation.resume(throwing: failure)
    } else if let value {
      continuation.resume(returning: value)
    } else {
      continuation.resume(throwing: StoreError(.unavailable, "the write did not run"))
    }
  }
}

/// A write whose caller's thread waits for it.
final class BlockingWrite<Value: Sendable>: PendingWrite, @unchecked Sendable {
  // `@unchecked`: the writer's thread stores the result before it signals, and the caller reads it after.

  private let body: @Sendable (WriteTransaction) throws -> Value
  private let done = DispatchSemaphore(value: 0)
  private var result = Result<Value, any Error>.failure(StoreError(.unavailable, "the write did not run"))

  init(_ body: @escaping @Sendable (WriteTransaction) throws -> Value) {
    self.body = body
    super.init(nil)
  }

  override func run(in transaction: WriteTransaction) throws { result = .success(try body(transaction)) }

  override func finish(_ failure: (any Error)?) {
    if let failure { result = .failure(failure) }
    done.signal()
  }

  func wait() throws -> Value {
    done.wait()
    return try result.get()
  }
}
