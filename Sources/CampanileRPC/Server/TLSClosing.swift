import NIOCore
import NIOSSL

/// Ends connections with TLS without a wait for what cannot come, or has come. Stands behind NIOSSL's handler.
///
/// A peer's `close_notify` (RFC 8446 section 6.1) is worth a wait: without it, what was written last may be lost to it. While half a
/// connection may stay open, though, NIOSSL 2.37 waits for all of its timeout in two cases more. One that comes during its own shutdown it
/// takes for a half that is closed; and a peer whose half has ended without one is waited for nevertheless.
final class TLSClosing: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  private var isInputClosed = false

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { isInputClosed = true }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // Most peers whose process ends say nothing before. That their half has ended is told behind this.
    if case NIOSSLError.uncleanShutdown = error { return }
    context.fireErrorCaught(error)
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .all else { return context.close(mode: mode, promise: promise) }
    // With the other half gone, all of it is closed as soon as the peer is told.
    if isInputClosed { return context.close(mode: .output, promise: promise) }
    // From now on no half is wanted. A channel that is closed has no options.
    try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
    context.close(mode: .all, promise: promise)
  }
}
