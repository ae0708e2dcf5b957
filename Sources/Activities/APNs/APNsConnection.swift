import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOTLS

/// Callbacks from a connection to its pool, on their common event loop.
protocol APNsConnectionOwner: AnyObject {
  /// Called when streams have ended or the peer has set or changed its stream limit.
  func connection(_ connection: APNsConnection, ended: [PushStreams.Ended])
  /// Called when the connection has closed; `wasReady` reports whether it ever received SETTINGS.
  func connectionClosed(_ connection: APNsConnection, wasReady: Bool, why: String)
}

/// An HTTP/2 connection to APNs, which writes requests as frames and reads the responses.
///
/// It is placed directly behind `NIOHTTP2Handler`, without a channel per stream: those would cost more than the rest of
/// a push. Its state is used on its event loop only.
final class APNsConnection: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  struct Limits: Sendable, Hashable {
    var streams = PushStreams.Limits()
    /// Idle time after which a PING checks the peer.
    var pingAfterMs: Int64 = 60_000
    /// Time limit for its acknowledgement, and for the first SETTINGS of a new connection.
    var pingTimeoutMs: Int64 = 10_000
    /// Received bytes after which the connection's flow-control window is extended.
    var windowBytes = 16_384

    init() {}
  }

  private let authority: String
  private let limits: Limits
  private let nowMs: @Sendable () -> Int64
  private weak var owner: (any APNsConnectionOwner)?
  private var context: ChannelHandlerContext?
  private var streams: PushStreams
  private var ended: [PushStreams.Ended] = []
  private var isReady = false
  private var isClosed = false
  private var readBytes = 0
  private var heardMs: Int64
  private var pingSentMs: Int64?
  private var whyClosed = "the connection was closed"

  init(
    authority: String, limits: Limits, nowMs: @escaping @Sendable () -> Int64, owner: any APNsConnectionOwner
  ) {
    self.authority = authority
    self.limits = limits
    self.nowMs = nowMs
    self.owner = owner
    streams = PushStreams(limits: limits.streams)
    heardMs = nowMs()
  }

  var openCount: Int { streams.openCount }
  var freeCount: Int { isReady && !isClosed ? streams.freeCount : 0 }
  var streamsMax: Int { isReady && !isClosed ? streams.streamsMax : 0 }
  /// Whether the connection still waits for the peer's SETTINGS.
  var isStarting: Bool { !isReady && !isClosed }
  /// Whether the connection accepts requests now or later.
  var isUsable: Bool { !isClosed && !streams.isDraining }

  /// Sends as many requests as the connection accepts and returns the others.
  func send(_ requests: ArraySlice<PushRequest>) -> ArraySlice<PushRequest> {
    guard let context, isReady, !isClosed else { return requests }
    var rest = requests
    let now = nowMs()
    while let request = rest.first, let id = streams.open(request, nowMs: now) {
      rest.removeFirst()
      write(request, id, context)
    }
    if rest.count < requests.count { context.flush() }
    return rest
  }

  /// Ends requests that timed out and connections that stopped responding. Call it several times a second.
  func tick() {
    guard let context, !isClosed else { return }
    let now = nowMs()
    let expired = streams.expire(nowMs: now)
    for (id, end) in expired {
      let frame = HTTP2Frame(streamID: HTTP2StreamID(id), payload: .rstStream(.cancel))
      context.write(wrapOutboundOut(frame), promise: nil)
      ended.append(end)
    }
    if !expired.isEmpty { context.flush() }
    if streams.isUnresponsive { close("the peer stopped responding") }
    if let pingSentMs {
      if now - pingSentMs >= limits.pingTimeoutMs { close("the peer did not acknowledge a PING") }
    } else if !isReady {
      if now - heardMs >= limits.pingTimeoutMs { close("the peer sent no SETTINGS") }
    } else if now - heardMs >= limits.pingAfterMs {
      pingSentMs = now
      let frame = HTTP2Frame(streamID: .rootStream, payload: .ping(HTTP2PingData(withInteger: 1), ack: false))
      context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }
    report()
    closeIfDone()
  }

  /// Stops accepting requests and closes once the open ones have ended.
  func drain() {
    streams.drain()
    closeIfDone()
  }

  func close(_ why: String) {
    guard !isClosed else { return }
    whyClosed = why
    context?.close(promise: nil)
  }

  // MARK: Channel

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelInactive(context: ChannelHandlerContext) {
    finish()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A stream error ends only that stream, which a `StreamClosedEvent` reports; any other error ends the connection.
    if error is NIOHTTP2Errors.StreamError { return }
    whyClosed = String(describing: error).prefix(200).description
    context.close(promise: nil)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let event as StreamClosedEvent:
      let why = event.reason.map { "the stream was reset: \($0)" } ?? "the stream ended without a response"
      let isRefused = event.reason == .refusedStream
      if let end = streams.closed(Int(event.streamID), isRefused: isRefused, why: why) { ended.append(end) }
    case TLSUserEvent.handshakeCompleted(let negotiated) where negotiated != "h2":
      close("the peer does not speak HTTP/2")
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.payload {
    case .headers(let payload): read(payload, Int(frame.streamID))
    case .data(let payload): read(payload, frame.streamID, context)
    case .settings(.settings(let settings)): read(settings)
    case .goAway(let lastID, let code, let debug):
      let text = debug.map { String(buffer: $0).prefix(100) } ?? ""
      ended += streams.goAway(lastID: Int(lastID), why: "GOAWAY \(code) \(text)")
    case .ping(_, ack: true): pingSentMs = nil
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    heardMs = nowMs()
    report()
    closeIfDone()
    context.fireChannelReadComplete()
  }

  // MARK: Frames

  private func write(_ request: PushRequest, _ id: Int, _ context: ChannelHandlerContext) {
    let streamID = HTTP2StreamID(id)
    let hasBody = !request.payload.isEmpty
    let head = HTTP2Frame.FramePayload.Headers(
      headers: PushHeaders.headers(of: request, authority: authority), endStream: !hasBody)
    context.write(wrapOutboundOut(HTTP2Frame(streamID: streamID, payload: .headers(head))), promise: nil)
    guard hasBody else { return }
    let body = HTTP2Frame.FramePayload.Data(
      data: .byteBuffer(ByteBuffer(bytes: request.payload)), endStream: true)
    context.write(wrapOutboundOut(HTTP2Frame(streamID: streamID, payload: .data(body))), promise: nil)
  }

  private func read(_ payload: HTTP2Frame.FramePayload.Headers, _ id: Int) {
    let head = PushHeaders.head(of: payload.headers)
    let end = streams.headers(
      id, status: head.status, retryAfterMs: head.retryAfterMs, channelID: head.channelID, isEnd: payload.endStream)
    if let end { ended.append(end) }
  }

  private func read(
    _ payload: HTTP2Frame.FramePayload.Data, _ streamID: HTTP2StreamID, _ context: ChannelHandlerContext
  ) {
    guard case .byteBuffer(let buffer) = payload.data else { return }
    let count = buffer.readableBytes + (payload.paddingBytes.map { $0 + 1 } ?? 0)
    if let end = streams.data(Int(streamID), buffer.readableBytesView, isEnd: payload.endStream) { ended.append(end) }
    if !payload.endStream, count > 0 { widen(streamID, count, context) }
    readBytes += count
    guard readBytes >= limits.windowBytes else { return }
    widen(.rootStream, readBytes, context)
    readBytes = 0
  }

  private func widen(_ streamID: HTTP2StreamID, _ count: Int, _ context: ChannelHandlerContext) {
    let frame = HTTP2Frame(streamID: streamID, payload: .windowUpdate(windowSizeIncrement: count))
    context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
  }

  private func read(_ settings: HTTP2Settings) {
    // The last value counts (RFC 9113 section 6.5.3); settings that a later frame omits stay unchanged.
    let value = settings.last { $0.parameter == .maxConcurrentStreams }?.value
    if value != nil || !isReady { streams.settings(streamsMax: value) }
    isReady = true
  }

  // MARK: Ends

  private func report() {
    let ended = self.ended
    self.ended = []
    owner?.connection(self, ended: ended)
  }

  private func closeIfDone() {
    if streams.isDone { close("drained") }
  }

  private func finish() {
    guard !isClosed else { return }
    isClosed = true
    ended += streams.connectionLost(why: whyClosed)
    report()
    owner?.connectionClosed(self, wasReady: isReady, why: whyClosed)
  }
}
