import Hummingbird
import HummingbirdCore
import NIOCore
import NIOHTTPTypes
import Synchronization

/// The open connections of an operators' HTTP port, on all event loops.
final class AdminConnections: Sendable {
  private struct Entry {
    let channel: any Channel
    var isAnswering = false
    var since: NIODeadline
  }

  let limits: AdminConnectionLimits
  private let entries: Mutex<[ObjectIdentifier: Entry]> = Mutex([:])

  init(_ limits: AdminConnectionLimits) { self.limits = limits }

  /// The HTTP server for these connections. The limits of its parser are lower than NIO's defaults.
  var server: HTTPServerBuilder {
    .http1(
      configuration: .init(
        additionalChannelHandlers: [AdminConnectionHandler(self)],
        httpDecoderConfiguration: .init(maxHeaderFieldSize: 8192, maxHeaderListSize: 16_384, maxHeaderFieldCount: 64)))
  }

  /// Registers a connection and closes the oldest one if there are too many.
  ///
  /// The oldest is the connection that has waited longest for its peer. If there is none, it is the one whose response
  /// has taken longest.
  func add(_ channel: any Channel, now: NIODeadline) {
    let oldest: (any Channel)? = entries.withLock { entries in
      defer { entries[ObjectIdentifier(channel)] = Entry(channel: channel, since: now) }
      guard entries.count >= limits.connectionsMax else { return nil }
      let oldest = entries.min {
        ($0.value.isAnswering ? 1 : 0, $0.value.since) < ($1.value.isAnswering ? 1 : 0, $1.value.since)
      }
      return oldest.flatMap { entries.removeValue(forKey: $0.key)?.channel }
    }
    oldest?.close(promise: nil)
  }

  func update(_ channel: any Channel, _ timing: AdminConnectionTiming) {
    entries.withLock {
      $0[ObjectIdentifier(channel)]?.isAnswering = timing.phase == .answering
      $0[ObjectIdentifier(channel)]?.since = timing.since
    }
  }

  func remove(_ channel: any Channel) { entries.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(channel)) } }
}

/// Applies the limits to a connection. It follows the HTTP codec in the pipeline; a `ByteWatch` precedes the codec.
private final class AdminConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let connections: AdminConnections
  private var timing: AdminConnectionTiming
  private var timer: Scheduled<Void>?

  init(_ connections: AdminConnections) {
    self.connections = connections
    timing = AdminConnectionTiming(connections.limits, now: .now())
  }

  func handlerAdded(context: ChannelHandlerContext) {
    try? context.pipeline.syncOperations.addHandler(
      ByteWatch { self.change(context) { $0.bytesArrived(now: .now()) } }, position: .first)
    connections.add(context.channel, now: timing.since)
    schedule(context)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    connections.remove(context.channel)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head: change(context) { $0.headArrived(now: .now()) }
    case .body: break
    case .end: change(context) { $0.requestEnded(now: .now()) }
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { change(context) { $0.answerEnded(now: .now()) } }
    context.write(data, promise: promise)
  }

  private func change(_ context: ChannelHandlerContext, _ body: (inout AdminConnectionTiming) -> Void) {
    let former = timing.phase
    body(&timing)
    guard timing.phase != former else { return }
    connections.update(context.channel, timing)
    schedule(context)
  }

  private func schedule(_ context: ChannelHandlerContext) {
    timer?.cancel()
    timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: timing.deadline) { self.expire(context) }
  }

  private func expire(_ context: ChannelHandlerContext) {
    guard timing.tellsTimeout else { return context.close(promise: nil) }
    let head = HTTPResponse(status: .requestTimeout, headerFields: [.connection: "close", .contentLength: "0"])
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    // Give the peer a second to read the response.
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(1)) { context.close(promise: nil) }
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in bound.value.close(promise: nil) }
  }

  /// Reports incoming bytes before the codec has parsed them.
  private final class ByteWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let arrived: () -> Void
    init(_ arrived: @escaping () -> Void) { self.arrived = arrived }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      arrived()
      context.fireChannelRead(data)
    }
  }
}
