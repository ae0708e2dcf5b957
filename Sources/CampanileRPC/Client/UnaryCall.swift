import CampanileBase
internal import NIOCore

/// Waits for the outcome of one attempt at a unary call.
///
/// `@unchecked Sendable`: its variables are accessed on the loop of `owner` only.
final class UnaryCall: ClientCallHandler, @unchecked Sendable {
  enum Outcome {
    case reply([UInt8])
    case failed(RPCError)
    /// Retry after this delay. `mayHaveRun`: a handler may have seen this attempt.
    case retry(afterMs: Int64, mayHaveRun: Bool)
  }

  private let owner: LoopClient
  private let attempt: Int
  private let attemptsMax: Int?
  private let allowsRetry: Bool
  private let deadline: Deadline?
  private var continuation: UnsafeContinuation<Outcome, Never>?
  private var call: OpenClientCall?
  private var isCancelled = false

  init(owner: LoopClient, attempt: Int, attemptsMax: Int?, allowsRetry: Bool, deadline: Deadline?) {
    self.owner = owner
    self.attempt = attempt
    self.attemptsMax = attemptsMax
    self.allowsRetry = allowsRetry
    self.deadline = deadline
  }

  /// Starts the attempt, on the loop. The continuation is resumed exactly once.
  @inline(__always)
  func start(
    _ head: CallHead, params: UnsafeRawBufferPointer, now: NIODeadline,
    _ continuation: UnsafeContinuation<Outcome, Never>
  ) {
    guard !isCancelled else { return continuation.resume(returning: .failed(LocalFailure.cancelled(processed: false))) }
    self.continuation = continuation
    call = owner.startCall(
      head, params: params, rawMetadata: UnsafeRawBufferPointer(start: nil, count: 0), now: now, handler: self)
  }

  /// Cancels the attempt from any thread.
  func cancel() {
    owner.loop.execute {
      self.isCancelled = true
      self.call?.cancel()
      self.end(.failed(LocalFailure.cancelled()))
    }
  }

  private func end(_ outcome: Outcome) {
    call = nil
    let former = continuation
    continuation = nil
    former?.resume(returning: outcome)
  }

  func callFinished(result: UnsafeRawBufferPointer) {
    owner.callSucceeded()
    end(.reply([UInt8](result)))
  }

  func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?) {
    let delay = owner.retryDelayMs(
      after: error, attempt: attempt, attemptsMax: attemptsMax, allowsRetry: allowsRetry, deadline: deadline)
    end(delay.map { .retry(afterMs: $0, mayHaveRun: error.processed) } ?? .failed(error))
  }

  // A unary call has no stream, so the connection never calls these.
  func callReceived(message: UnsafeRawBufferPointer, sizeBytes: Int) {}
  func callCredit(_ credit: StreamCredit) {}
}
