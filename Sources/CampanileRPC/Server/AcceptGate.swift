package import NIOCore

/// Stops accepting connections from the backlog while `openMax` are open.
///
/// Connections above the server's limit get an error and are closed, each on its own loop. Without the gate, a burst of
/// connections would take every file descriptor of the process before the first of them is closed.
package final class AcceptGate: ChannelDuplexHandler {
  package typealias InboundIn = any Channel
  package typealias InboundOut = any Channel
  package typealias OutboundIn = Never
  package typealias OutboundOut = Never

  private let openMax: Int
  private var openCount = 0
  /// Whether a pending read waits until a connection is closed.
  private var isWaiting = false

  package init(openMax: Int) { self.openMax = openMax }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let accepted = unwrapInboundIn(data)
    openCount += 1
    accepted.closeFuture.hop(to: context.eventLoop).assumeIsolated().whenComplete { _ in self.closed(context) }
    context.fireChannelRead(data)
  }

  package func read(context: ChannelHandlerContext) {
    if openCount < openMax { context.read() } else { isWaiting = true }
  }

  package func handlerRemoved(context: ChannelHandlerContext) { isWaiting = false }

  private func closed(_ context: ChannelHandlerContext) {
    openCount -= 1
    guard isWaiting, openCount < openMax else { return }
    isWaiting = false
    context.read()
  }
}
