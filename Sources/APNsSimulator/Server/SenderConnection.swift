import APNs
import NIOCore
import NIOHPACK
import NIOHTTP2

/// A sender's connection, which assembles requests from frames and writes the simulator's outcomes.
///
/// It works on HTTP/2 frames instead of a channel per stream, because those would cost most of the server's time and
/// because faults concern frames.
final class SenderConnection: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias OutboundOut = HTTP2Frame

  private let simulator: Simulator
  private let raw: RawFrameWriter
  private var use: ConnectionUse
  private var streams: [HTTP2StreamID: OpenStream] = [:]
  private var highestStream = HTTP2StreamID.rootStream
  /// Streams above it are ignored, as announced by GOAWAY.
  private var lastStream: HTTP2StreamID?
  private var closesWhenIdle = false
  private var unacknowledgedBytes = 0
  private var hasWidenedWindow = false
  private var idleTask: Scheduled<Void>?
  private var lastActivity = NIODeadline.now()

  /// A stream whose request is incomplete or whose response is delayed.
  private struct OpenStream {
    var method = ""
    var path = ""
    var fields = PushFields()
    var body: [UInt8] = []
    var bodyBytes = 0
    var isJudged = false
  }

  /// Maximum bytes of a body that are stored; more are above all limits.
  static let bodyBytesKept = 16 * 1024
  /// A longer body gets its response before it ends, because a stream's window is never extended.
  static let bodyBytesMax = 48 * 1024
  /// Flow-control window of a connection.
  static let windowBytes = 16 << 20
  static let idleCheck = TimeAmount.seconds(10)

  init(simulator: Simulator, number: Int, raw: RawFrameWriter) {
    self.simulator = simulator
    self.raw = raw
    use = ConnectionUse(number: number)
  }

  // MARK: - inbound

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    lastActivity = .now()
    widenWindow(context)
    if let lastStream, frame.streamID > lastStream, frame.streamID.isClientInitiated { return }
    switch frame.payload {
    case .headers(let headers): head(frame.streamID, headers, context)
    case .data(let data): body(frame.streamID, data, context)
    case .rstStream: streams[frame.streamID] = nil
    default: break
    }
  }

  private func head(_ id: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload.Headers, _ context: ChannelHandlerContext) {
    // Trailers have no meaning here.
    guard streams[id] == nil else {
      if payload.endStream { judge(id, context) }
      return
    }
    highestStream = max(highestStream, id)
    var stream = OpenStream()
    for (name, value, _) in payload.headers {
      switch name {
      case ":method": stream.method = value
      case ":path": stream.path = value
      default: stream.fields.add(name, value)
      }
    }
    streams[id] = stream
    if payload.endStream { judge(id, context) }
  }

  private func body(_ id: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload.Data, _ context: ChannelHandlerContext) {
    guard case .byteBuffer(let buffer) = payload.data else { return }
    acknowledge(buffer.readableBytes, context)
    guard streams[id] != nil else { return }
    streams[id]?.bodyBytes += buffer.readableBytes
    if let count = streams[id]?.body.count, count < Self.bodyBytesKept {
      streams[id]?.body.append(contentsOf: buffer.readableBytesView.prefix(Self.bodyBytesKept - count))
    }
    let isTooLong = (streams[id]?.bodyBytes ?? 0) > Self.bodyBytesMax
    if payload.endStream || isTooLong { judge(id, context) }
    // Discard the rest of the body (RFC 9113 section 8.1).
    if isTooLong, !payload.endStream { write(context, HTTP2Frame(streamID: id, payload: .rstStream(.noError))) }
  }

  private func judge(_ id: HTTP2StreamID, _ context: ChannelHandlerContext) {
    guard let stream = streams[id], !stream.isJudged else { return }
    streams[id]?.isJudged = true
    let request = ReceivedPush(
      method: stream.method, path: stream.path, fields: stream.fields, body: stream.body, bodyBytes: stream.bodyBytes)
    let outcome = simulator.handle(request, connection: &use)
    guard outcome.delayMs > 0 else { return act(id, outcome.action, context) }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    context.eventLoop.scheduleTask(in: .milliseconds(outcome.delayMs)) {
      let (connection, context) = bound.value
      guard context.channel.isActive else { return }
      connection.act(id, outcome.action, context)
      context.flush()
    }
  }

  // MARK: - outbound

  private func act(_ id: HTTP2StreamID, _ action: Outcome.Action, _ context: ChannelHandlerContext) {
    // The sender may have reset the stream.
    guard let stream = streams.removeValue(forKey: id) else { return }
    switch action {
    case .answer(let answer): write(answer, path: stream.path, id, context)
    case .answerAndGoAway(let answer):
      write(answer, path: stream.path, id, context)
      goAway(context, lastStream: id)
    case .reset(let isProcessed):
      write(context, HTTP2Frame(streamID: id, payload: .rstStream(isProcessed ? .internalError : .refusedStream)))
    case .close:
      context.close(promise: nil)
    case .nothing:
      // The stream stays open for the sender.
      break
    }
    closeIfIdle(context)
  }

  private func write(_ answer: Answer, path: String, _ id: HTTP2StreamID, _ context: ChannelHandlerContext) {
    var headers = HPACKHeaders()
    headers.reserveCapacity(4)
    headers.add(name: ":status", value: String(answer.status))
    headers.add(name: Answer.idHeader(path), value: answer.id)
    if let channelID = answer.channelID { headers.add(name: APNsHeader.channelID, value: channelID) }
    if let seconds = answer.refusal?.retryAfterSeconds {
      headers.add(name: APNsHeader.retryAfter, value: String(seconds))
    }
    let body = answer.refusal.map(Self.json) ?? answer.body
    write(
      context,
      HTTP2Frame(streamID: id, payload: .headers(.init(headers: headers, endStream: body == nil))))
    guard let body else { return }
    let buffer = context.channel.allocator.buffer(string: body)
    write(context, HTTP2Frame(streamID: id, payload: .data(.init(data: .byteBuffer(buffer), endStream: true))))
  }

  /// Encodes a refusal. Apple's reasons need no escaping; other characters in scripted reasons are dropped.
  private static func json(_ refusal: Refusal) -> String {
    let reason = refusal.reason.text.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
    let timestamp = refusal.timestampMs.map { ",\"timestamp\":\($0)" } ?? ""
    return "{\"reason\":\"\(reason)\"\(timestamp)}"
  }

  private func write(_ context: ChannelHandlerContext, _ frame: HTTP2Frame) {
    context.write(wrapOutboundOut(frame), promise: nil)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.flush()
    context.fireChannelReadComplete()
  }

  // MARK: - flow control

  /// Stops reading from a sender that does not read its responses.
  func channelWritabilityChanged(context: ChannelHandlerContext) {
    context.channel.setOption(.autoRead, value: context.channel.isWritable).whenFailure { _ in }
    context.fireChannelWritabilityChanged()
  }

  private func widenWindow(_ context: ChannelHandlerContext) {
    guard !hasWidenedWindow else { return }
    hasWidenedWindow = true
    write(
      context,
      HTTP2Frame(streamID: .rootStream, payload: .windowUpdate(windowSizeIncrement: Self.windowBytes - 65_535)))
  }

  /// Restores the connection's window in large steps (RFC 9113 section 6.9).
  private func acknowledge(_ count: Int, _ context: ChannelHandlerContext) {
    unacknowledgedBytes += count
    guard unacknowledgedBytes >= Self.windowBytes / 4 else { return }
    write(
      context,
      HTTP2Frame(streamID: .rootStream, payload: .windowUpdate(windowSizeIncrement: unacknowledgedBytes)))
    unacknowledgedBytes = 0
  }

  // MARK: - ending

  /// Sends GOAWAY and closes the connection once the earlier streams have their responses.
  ///
  /// - Parameter lastStream: The last stream to be processed; by default the newest.
  func goAway(_ context: ChannelHandlerContext, lastStream: HTTP2StreamID? = nil) {
    guard self.lastStream == nil else { return }
    let last = lastStream ?? highestStream
    self.lastStream = last
    for id in streams.keys.filter({ $0 > last }) { streams[id] = nil }
    raw.goAway(lastStream: last)
    closesWhenIdle = true
    closeIfIdle(context)
  }

  private func closeIfIdle(_ context: ChannelHandlerContext) {
    guard closesWhenIdle, streams.isEmpty else { return }
    // Flush first, and give the sender a moment to read before the connection closes.
    context.flush()
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.eventLoop.scheduleTask(in: .milliseconds(50)) { bound.value.close(promise: nil) }
    closesWhenIdle = false
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let closed as StreamClosedEvent: streams[closed.streamID] = nil
    case is GoAwayRequest:
      goAway(context)
      context.flush()
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The HTTP/2 handler has already ended the stream.
    if error is NIOHTTP2Errors.StreamError { return }
    context.close(promise: nil)
  }

  // MARK: - idling

  func handlerAdded(context: ChannelHandlerContext) { scheduleIdleCheck(context) }
  func handlerRemoved(context: ChannelHandlerContext) { idleTask?.cancel() }

  private func scheduleIdleCheck(_ context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    idleTask = context.eventLoop.scheduleTask(in: Self.idleCheck) {
      let (connection, context) = bound.value
      let idleMs = (NIODeadline.now() - connection.lastActivity).nanoseconds / 1_000_000
      if idleMs >= connection.simulator.idleTimeoutMs {
        connection.goAway(context)
        context.flush()
      }
      connection.scheduleIdleCheck(context)
    }
  }
}

extension HTTP2StreamID {
  fileprivate var isClientInitiated: Bool { Int(self).isMultiple(of: 2) == false }
}
