internal import NIOCore

/// Waits for the outcome of one attempt at a unary call.
///
/// `@unchecked Sendable`: its variables are touched on the loop of `owner` only.
final class UnaryCall: ClientCallHandler, @unchecked Sendable {
  enum Outcome {
    case reply([UInt8])
    case failed(RPCError)
    /// To be sent again after so long. `mayHaveRun`: a handler may have seen this attempt.
    case retry(afterMs: Int64, mayHaveRun: Bool)
  }

  private let owner: LoopClient
  private let attempt: Int
  private let attemptsMax: Int?
  private let allowsRepeat: Bool
  private let deadline: Deadline?
  private var continuation: UnsafeContinuation<Outcome, Never>?
  private var call: OpenClientCall?
  private var isCancelled = false

  init(owner: LoopClient, attempt: Int, attemptsMax: Int?, allowsRepeat: Bool, deadline: Deadline?) {
    self.owner = owner
    self.attempt = attempt
    self.attemptsMax = attemptsMax
    self.allowsRepeat = allowsRepeat
    self.deadline = deadline
  }

  /// On the loop. The continuation is resumed exactly once.
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

  /// From any thread.
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
      after: error, attempt: attempt, attemptsMax: attemptsMax, allowsRepeat: allowsRepeat, deadline: deadline)
    end(delay.map { .retry(afterMs: $0, mayHaveRun: error.processed) } ?? .failed(error))
  }

  // A unary call has no stream; the connection delivers neither.
  func callReceived(message: UnsafeRawBufferPointer) {}
  func callCredit(messages: Int) {}
}
