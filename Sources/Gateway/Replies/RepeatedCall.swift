import CampanileRPC
import NIOCore

/// A request that may be sent again, on its way to a backend.
struct RepeatedRequest {
  let way: Forwarder.Way
  let owner: LoopForwarder
  let head: CallHead
  let members: [UInt8]
  let params: [UInt8]
}

/// One call with an idempotency key: the first, which is carried out, or a repeat, which waits for its answer.
///
/// `@unchecked Sendable`: all but the constants is touched on the call's event loop only; the keeper comes back to it.
final class RepeatedCall: ServerCallHandler, @unchecked Sendable {
  let key: String
  let requestHash: [UInt8]
  let principal: String
  let method: String
  private let call: ServerCall
  private let request: RepeatedRequest
  private let keeper: ReplyKeeper
  private let startedAt: NIODeadline
  private var isOver = false

  init(
    _ call: ServerCall, _ request: RepeatedRequest, key: String, requestHash: [UInt8], principal: String,
    keeper: ReplyKeeper
  ) {
    self.call = call
    self.request = request
    self.key = key
    self.requestHash = requestHash
    self.principal = principal
    self.keeper = keeper
    startedAt = request.owner.loop.now
    method = request.way.route.path
    call.handler = self
  }

  /// What the call is told apart by: nobody's key is another's.
  var name: String { "\(principal) \(method) \(key)" }
  var loop: any EventLoop { request.owner.loop }

  // MARK: the answer, on the call's event loop

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
    let recorder = request.way.route.recorder
    recorder.callStarted(on: call.lane)
    recorder.callFinished(code: code, durationNs: (loop.now - startedAt).nanoseconds, on: call.lane)
    call.handlerEnded()
  }

  /// Carries the request out. If its caller is gone, another one's repeat is.
  func forward() {
    guard !isOver else { return keeper.givenUp(self) }
    let way = request.way
    do throws(RPCError) {
      guard way.backend < request.owner.pools.count else { throw ReplyFault.storeFailed }
      let pool = request.owner.pools[way.backend]
      let place = try Place(
        way.caller.credential?.share, pool, isStream: false, isBulk: way.route.isBulk, isLoopLate: request.owner.isLate)
      guard let address = pool.choose() else {
        place.giveBack()
        throw ReplyFault.storeFailed
      }
      isOver = true
      let forwarded = ForwardedCall(
        call, route: way.route, place: place, address: address, owner: request.owner, credential: way.caller.credential,
        keeper: self)
      request.params.withUnsafeBytes { params in
        request.owner.withMembers(request.members, forwarded) {
          forwarded.start(request.head, params: params, members: $0)
        }
      }
    } catch {
      if LimitFault.isOfCaller(error) { way.visitor.pace(call) }
      answer(.failure(error))
      keeper.ended(self, .failure(error))
    }
  }

  // MARK: what becomes of the forwarded call

  /// Keeps the answer, then lets it go out. The backend has done its work: that it could not be kept is no failure of the call.
  func succeeded(_ result: [UInt8], answered: @escaping () -> Void) {
    let box = NIOLoopBound(answered, eventLoop: loop)
    keeper.keep(result, of: self) { [loop] in loop.execute { box.value() } }
  }

  func failed(_ error: RPCError) { keeper.ended(self, .failure(error)) }

  // MARK: from the caller, while the call waits

  func receive(message: UnsafeRawBufferPointer) {
    answer(.failure(BackendFailure.streamUnexpected))
  }
  func halfClosed() {}
  func cancelled(_ error: RPCError) { if !isOver { over(error.code) } }
  func canSend() {}
}
