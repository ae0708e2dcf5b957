import Dispatch
import Synchronization

/// Blocks this thread until the asynchronous work is finished.
func waiting<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
  let outcome = Outcome<R>()
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    do { outcome.set(.success(try await body())) } catch { outcome.set(.failure(error)) }
    done.signal()
  }
  done.wait()
  return try outcome.get()
}

private final class Outcome<R: Sendable>: Sendable {
  private let result = Mutex<Result<R, any Error>>(.failure(CancellationError()))

  func set(_ value: Result<R, any Error>) { result.withLock { $0 = value } }
  func get() throws -> R { try result.withLock { $0 }.get() }
}
