import CampanileBase
import CampanileRPC
import NIOCore

/// A second attempt of the same request at another address, because the first is slow. Used on the call's event loop.
final class HedgedAttempt: ClientCallHandler {
  private unowned let owner: ForwardedCall
  private let pool: BackendPool
  private let address: BackendAddress
  private var upstream: ClientCall?
  private var isOver = false

  init(_ owner: ForwardedCall, _ pool: BackendPool, _ address: BackendAddress) {
    self.owner = owner
    self.pool = pool
    self.address = address
  }

  func start(_ request: ForwardedCall.RetainedRequest, on loop: any EventLoop) {
    address.openCalls += 1
    let started = request.params.withUnsafeBytes { params in
      request.members.withUnsafeBytes { members in
        address.client.startCall(request.head, params: params, rawMetadata: members, on: loop, handler: self)
      }
    }
    // A client that fails at once has already ended the attempt.
    if !isOver { upstream = started }
  }

  /// Cancels the attempt because the call has ended.
  func cancel() {
    guard !isOver else { return }
    upstream?.cancel()
    over(.gaveUp)
  }

  private func over(_ outcome: BackendPool.Outcome) {
    isOver = true
    upstream = nil
    pool.ended(address, outcome)
  }

  func callFinished(result: UnsafeRawBufferPointer) {
    guard !isOver else { return }
    over(.answered)
    owner.hedgeFinished(result: result)
  }

  func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?) {
    guard !isOver else { return }
    over(BackendPool.Outcome(error, isAnswer: rawError != nil))
    owner.hedgeFailed(error: error, rawError: rawError)
  }

  func callReceived(message: UnsafeRawBufferPointer, sizeBytes: Int) {}
  func callCredit(_ credit: StreamCredit) {}
}
