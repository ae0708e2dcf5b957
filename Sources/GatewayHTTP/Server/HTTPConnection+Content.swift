import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileHTTP
import CampanileRPC
import NIOCore
import NIOHTTP1

// Asset contents sent as raw bytes.
extension HTTPConnection {
  /// Sends one message of `DownloadAsset`. The first message determines the response's head; the bytes of all messages
  /// form its body.
  func sendContent(_ message: UnsafeRawBufferPointer) {
    guard let plan = exchange?.plan else { return }
    guard let chunk = try? DownloadAssetResponse(jsonUTF8: message), chunk.encoding == .identity
    else { return abandon(Self.contentInvalid) }
    if !state.isHeadSent {
      guard let asset = chunk.asset, chunk.offset == plan.range?.first ?? 0 else { return abandon(Self.contentInvalid) }
      var head = ContentHead(asset, range: plan.range, ifNoneMatch: plan.ifNoneMatch)
      if exchange?.head.method == .HEAD { head.progress = nil }
      openContent(head)
      guard head.progress != nil else { return finishContent() }
    }
    guard let taken = exchange?.content?.take(chunk.data.count), let channelContext else { return }
    exchange?.hasSent = true
    if taken > 0 {
      let bytes = ByteBuffer(bytes: chunk.data[..<taken])
      channelContext.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
    }
    if let content = exchange?.content, content.isComplete, content.isCut { return finishContent() }
    flushSoon()
  }

  private func openContent(_ head: ContentHead) {
    guard let channelContext, let exchange, state.sendHead() else { return }
    self.exchange?.content = head.progress
    var fields = commonHeaders(exchange)
    for (name, value) in head.headers { fields.add(name: name, value: value) }
    let answer = HTTPResponseHead(
      version: .http1_1, status: HTTPResponseStatus(statusCode: head.status), headers: fields)
    channelContext.write(wrapOutboundOut(.head(answer)), promise: nil)
  }

  /// Ends a response that is complete before the service has sent everything, and aborts the call.
  private func finishContent() {
    let call = exchange?.call
    exchange?.call = nil
    finish()
    guard let call else { return }
    // Deferred, because this runs inside the call's own send.
    let bound = NIOLoopBound(call, eventLoop: loop)
    loop.execute { bound.value.abort(Self.disconnected) }
  }

  func abandon(_ error: RPCError) {
    guard let call = exchange?.call else { return }
    let bound = NIOLoopBound(call, eventLoop: loop)
    loop.execute { bound.value.abort(error) }
  }

  /// Handles the end of the service's stream. Closes the connection if the body is shorter than its head announced.
  func endContent(_ error: RPCError?) {
    guard let exchange else { return }
    guard state.isHeadSent else { return fail(error ?? Self.contentInvalid) }
    if error == nil, exchange.content?.isComplete == true { return finish() }
    self.exchange = nil
    state.abandon()
    close()
  }

  static let contentInvalid = RPCError(
    .internalError, "cannot decode the service's content", reason: "RESPONSE_INVALID")
}
