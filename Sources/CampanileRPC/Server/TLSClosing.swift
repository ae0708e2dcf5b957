#if TLS
  import NIOCore
  import NIOSSL

  /// Closes TLS connections without unnecessary waits. Placed behind NIOSSL's handler.
  ///
  /// A peer's `close_notify` (RFC 8446 section 6.1) is worth waiting for: without it, the last writes may be lost. With
  /// half-closure allowed, however, NIOSSL 2.37 also waits for its whole timeout in two other cases. It takes a
  /// `close_notify` during its own shutdown for a half-closure, and it waits for a peer whose input ended without one.
  final class TLSClosing: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private var isInputClosed = false

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case ChannelEvent.inputClosed? = event as? ChannelEvent { isInputClosed = true }
      context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      // Most peers do not send `close_notify` when their process ends. The end of their input is reported separately.
      if case NIOSSLError.uncleanShutdown = error { return }
      context.fireErrorCaught(error)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      guard mode == .all else { return context.close(mode: mode, promise: promise) }
      // If the peer's half has ended, the connection closes completely once `close_notify` is sent.
      if isInputClosed { return context.close(mode: .output, promise: promise) }
      // Half-closure is no longer wanted. A channel that is already closed has no options.
      try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
      context.close(mode: .all, promise: promise)
    }
  }
#endif
