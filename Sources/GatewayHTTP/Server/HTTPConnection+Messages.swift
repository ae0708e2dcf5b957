import CampanileBase
import CampanileHTTP
import CampanileRPC
import NIOCore
import NIOHTTP1

// Client-streaming calls. A call starts with the request's head, and the body carries its messages.
extension HTTPConnection {
  func start(_ plan: HTTPPlan, isGzip: Bool) {
    guard let dispatcher = service?.dispatcher, let exchange, let call = exchange.call, !state.isQuiescing else {
      return refuseAndClose(Self.goingAway)
    }
    if plan.timeoutMs == 0 { return refuseAndClose(Self.late) }
    let messages = RequestMessages(
      call, plan, isGzip: isGzip, bytesMax: bodyBytesMax(exchange), account(exchange))
    exchange.messages = messages
    if let timeoutMs = plan.timeoutMs { call.setDeadline(timeoutMs: timeoutMs) }
    if exchange.head.headers.first(name: "expect")?.lowercased() == "100-continue" {
      channelContext?.triggerUserOutboundEvent(HTTPBypass.Event.goOn, promise: nil)
    }
    plan.method.withUnsafeBytes {
      dispatcher.startCall(call, method: $0, params: UnsafeRawBufferPointer(start: nil, count: 0))
    }
  }

  func take(_ bytes: ByteBuffer, into messages: RequestMessages) throws(RPCError) {
    change(messages) { $0.take(bytes) }
    if exchange?.messages === messages { try messages.countWaiting() }
  }

  /// Handles the credit that the call's service grants for further messages.
  func granted(_ call: ServerCall) {
    guard let exchange, exchange.call === call, let messages = exchange.messages else { return }
    change(messages) { $0.granted() }
  }

  /// Applies `body`, restarts the timeout if a message was delivered, and reads on if the service accepts more.
  private func change(_ messages: RequestMessages, _ body: (RequestMessages) -> Void) {
    let count = messages.count
    body(messages)
    // This may have ended the call and its exchange.
    guard exchange?.messages === messages else { return }
    if messages.count != count { state.timing.progressed(now: .now()) }
    read(messages.takesMore)
  }
}
