import CampanileBase
import CampanileRPC
import NIOCore

/// The data to forward a call with an idempotency key.
struct BufferedRequest {
  let admitted: Forwarder.AdmittedCall
  let owner: LoopForwarder
  let head: CallHead
  let members: [UInt8]
  var params: [UInt8]
}

/// One call with an idempotency key: either the first, which runs, or a repeat, which waits for its response.
///
/// `@unchecked Sendable`: everything but the constants is used on the call's event loop only; `replies` returns to it.
final class IdempotentCall: ServerCallHandler, @unchecked Sendable {
  /// The idempotency key, followed by a digest of the metadata that identifies the caller.
  let key: String
  let requestHash: [UInt8]
  let principal: String
  let method: String
  private let call: ServerCall
  private let request: BufferedRequest
  private let replies: ReplyStore
  let startedAt: NIODeadline
  private var isOver = false

  init(
    _ call: ServerCall, _ request: BufferedRequest, key: String, requestHash: [UInt8], principal: String,
    replies: ReplyStore
  ) {
    self.call = call
    self.request = request
    self.key = key
    self.requestHash = requestHash
    self.principal = principal
    self.replies = replies
    startedAt = request.owner.loop.now
    method = request.admitted.route.path
    call.handler = self
  }

  var hasSecretResponse: Bool { request.admitted.route.hasSecretResponse }
  /// Identifies the call. Includes the principal, so that callers cannot share keys.
  var name: String { "\(principal) \(method) \(key)" }
  var loop: any EventLoop { request.owner.loop }

  // MARK: Response, on the call's event loop

  func answer(_ outcome: ReplyOutcome) {
    guard !isOver else { return }
    switch outcome {
    case .success(let result):
      result.withUnsafeBytes { call.succeed($0) }
      over(nil)
    case .failure(let error):
      call.fail(error)
      over(error.code)
    }
  }

  private func over(_ code: RPCError.Code?) {
    isOver = true
    let recorder = request.admitted.route.recorder
    recorder.callStarted(on: call.shard)
    recorder.callFinished(code: code, durationNs: (loop.now - startedAt).nanoseconds, on: call.shard)
    call.handlerEnded()
  }

  /// Forwards the request. If its caller has left, a waiting repeat is forwarded instead.
  func forward() {
    guard !isOver else { return replies.givenUp(self) }
    let admitted = request.admitted
    do throws(RPCError) {
      guard admitted.backend < request.owner.pools.count else { throw ReplyFault.storeFailed }
      let pool = request.owner.pools[admitted.backend]
      let permit = try CallPermit(
        admitted.caller.credential?.share, pool, isStream: false, isBulk: admitted.route.isBulk,
        isLoopLate: request.owner.isLate)
      guard let address = pool.choose() else {
        permit.giveBack()
        throw ReplyFault.storeFailed
      }
      isOver = true
      let forwarded = ForwardedCall(
        call, route: admitted.route, permit: permit, address: address, owner: request.owner,
        credential: admitted.caller.credential,
        idempotentCall: self)
      request.params.withUnsafeBytes { params in
        request.owner.withMembers(request.members, forwarded) {
          forwarded.start(request.head, params: params, members: $0)
        }
      }
    } catch {
      if LimitFault.isOfCaller(error) { admitted.callerCache.pace(call) }
      answer(.failure(error))
      replies.ended(self, .failure(error))
    }
  }

  // MARK: Result of the forwarded call

  /// Stores the response, then sends it. The call succeeds even if its response cannot be stored, because the backend
  /// has done the work.
  func succeeded(_ result: [UInt8], answered: @escaping () -> Void) {
    let box = NIOLoopBound(answered, eventLoop: loop)
    replies.keep(result, of: self) { [loop] in loop.execute { box.value() } }
  }

  func failed(_ error: RPCError) { replies.ended(self, .failure(error)) }

  // MARK: Events from the caller, while the call waits

  func receive(message: UnsafeRawBufferPointer, sizeBytes: Int) {
    answer(.failure(BackendFailure.streamUnexpected))
  }
  func halfClosed() {}
  func cancelled(_ error: RPCError) { if !isOver { over(error.code) } }
  func canSend() {}
}
