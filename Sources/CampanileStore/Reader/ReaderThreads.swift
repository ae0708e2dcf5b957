import Foundation
import Synchronization

/// Threads that run reads which wait for a network, so that no event loop does.
final class ReaderThreads: Sendable {
  /// Maximum number of reads that wait for a thread. Beyond it, reads fail with `overloaded`.
  static let pendingMax = 10_000

  private let queue = OperationQueue()
  private let pending = Atomic(0)
  private let place: String

  init(_ engine: any StoreEngine) {
    place = engine.place
    queue.name = "store-readers"
    queue.maxConcurrentOperationCount = max(1, engine.readersMax)
  }

  func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    defer { pending.subtract(1, ordering: .relaxed) }
    guard pending.add(1, ordering: .relaxed).newValue <= Self.pendingMax else {
      throw StoreError(.overloaded, "\(Self.pendingMax) reads are already waiting", path: place)
    }
    return try await withUnsafeThrowingContinuation { continuation in
      let job = ReaderJob(body)
      queue.addOperation {
        let result = job.run()
        continuation.resume(with: result)
      }
    }
  }
}

/// A read that runs once, and releases its closure before its caller continues.
///
/// The queue may release an operation after the caller has returned. Until then it would keep a closure alive that the
/// caller passed as non-escaping, which ends the process.
private final class ReaderJob<T: Sendable>: @unchecked Sendable {
  // `@unchecked`: only the thread that runs the job uses the closure.
  private var body: (@Sendable () throws -> T)?

  init(_ body: @escaping @Sendable () throws -> T) { self.body = body }

  func run() -> Result<T, any Error> {
    guard let body else { return .failure(CancellationError()) }
    self.body = nil
    return Result { try body() }
  }
}
