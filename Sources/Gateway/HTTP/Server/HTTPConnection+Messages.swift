import CampanileRPC
import NIOCore
import NIOHTTP1

// Calls that stream their requests: they begin with the request's head, and its body is their messages.
extension HTTPConnection {
  func start(_ plan: HTTPPlan, isGzip: Bool) {
    guard let dispatcher = face.dispatcher, !isQuiescing else { return refuseAndClose(Self.goingAway) }
    if plan.timeoutMs == 0 { return refuseAndClose(Self.late) }
    let call = ServerCall(transport: self, metadata: plan.metadata)
    let messages = RequestMessages(
      call, plan, isGzip: isGzip, bytesMax: configuration.bodyBytesMax, connections)
    exchange?.call = call
    exchange?.messages = messages
    if let timeoutMs = plan.timeoutMs { call.setDeadline(timeoutMs: timeoutMs) }
    if exchange?.head.headers.first(name: "expect")?.lowercased() == "100-continue" {
      channelContext?.triggerUserOutboundEvent(HTTPBypass.Event.goOn, promise: nil)
    }
    plan.method.withUnsafeBytes {
      dispatcher.startCall(call, method: $0, params: UnsafeRawBufferPointer(start: nil, count: 0))
    }
  }

  func take(_ bytes: ByteBuffer, into messages: RequestMessages) {
    guard connections.readingBytes + bytes.readableBytes <= configuration.readingBytesMax else {
      return abandon(Self.overloaded)
    }
    change(messages) { $0.take(bytes) }
  }

  /// The service of a call takes so many messages more.
  func granted(_ call: ServerCall, _ count: Int) {
    guard let exchange, exchange.call === call, let messages = exchange.messages else { return }
    change(messages) { $0.granted(count) }
  }

  /// Reads on as far as the service takes more, and notes that it goes on.
  private func change(_ messages: RequestMessages, _ body: (RequestMessages) -> Void) {
    let count = messages.count
    body(messages)
    // The call may have ended by it, and with it the exchange.
    guard exchange?.messages === messages else { return }
    if messages.count != count { timing.progressed(now: .now()) }
    read(messages.takesMore)
  }
}
