import CampanileBase
import CampanileCodec
import CampanileHTTP
import CampanileRPC
import Gateway
import NIOCore
import NIOHTTP1

// Responses.
extension HTTPConnection {
  // MARK: complete responses

  /// Writes a complete response and ends the exchange.
  func answer(_ status: Int, _ headers: [(String, String)], _ body: [UInt8]) {
    write(status, headers, ByteBuffer(bytes: body))
  }

  private func write(_ status: Int, _ headers: [(String, String)], _ body: ByteBuffer) {
    guard let channelContext, let exchange, state.sendHead() else { return }
    var fields = commonHeaders(exchange)
    for (name, value) in headers { fields.add(name: name, value: value) }
    let hasBody = status != 204 && status != 304
    if hasBody { fields.add(name: "Content-Length", value: String(body.readableBytes)) }
    let head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: fields)
    channelContext.write(wrapOutboundOut(.head(head)), promise: nil)
    if hasBody, body.readableBytes > 0, exchange.head.method != .HEAD {
      channelContext.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    }
    finish()
  }

  func commonHeaders(_ exchange: HTTPExchange) -> HTTPHeaders {
    var fields = HTTPHeaders()
    fields.reserveCapacity(8)
    if state.closesAfterResponse {
      fields.add(name: "Connection", value: "close")
    } else if !exchange.head.version.hasChunks {
      fields.add(name: "Connection", value: "keep-alive")
    }
    fields.add(name: "X-Content-Type-Options", value: "nosniff")
    if configuration.isEncrypted { fields.add(name: "Strict-Transport-Security", value: "max-age=31536000") }
    for (name, value) in exchange.policies { fields.add(name: name, value: value) }
    if let quota = exchange.call?.quota?.status(nowNs: MonotonicClock.nowNs()) {
      fields.add(name: "RateLimit-Limit", value: String(quota.limit))
      fields.add(name: "RateLimit-Remaining", value: String(quota.remaining))
      fields.add(name: "RateLimit-Reset", value: String((quota.reset.wholeMilliseconds + 999) / 1000))
    }
    return fields
  }

  /// Responds with an error to a request whose body has been discarded.
  func refuse(_ error: RPCError, headers: [(String, String)] = []) { fail(error, headers: headers) }

  /// Responds with an error at once and closes the connection without reading the rest of the request.
  func refuseAndClose(_ error: RPCError, headers: [(String, String)] = []) {
    state.endAfterResponse()
    fail(error, headers: headers)
  }

  /// Responds to input that is not a readable request, and closes the connection.
  func refuseUnread(_ error: RPCError, status: Int) {
    guard !state.isClosing, exchange == nil else { return close() }
    var writer = JSONWriter()
    ErrorBody.rest(error, status: status, to: &writer)
    gate?.refuse(
      status: status, contentType: "application/json", body: writer.withUnsafeBytes { ByteBuffer(bytes: $0) })
    closeAfterFlush()
  }

  // MARK: results of calls

  func succeed(_ result: UnsafeRawBufferPointer) {
    guard let exchange else { return }
    switch exchange.style {
    case .connectUnary:
      if exchange.isBinary, let binary = exchange.plan?.binary { return succeed(result, binary) }
      write(200, [("Content-Type", ConnectRequest.unaryType), ("Cache-Control", "no-store")], Self.message(result))
    case .rest: succeedREST(result, exchange)
    default:
      if exchange.plan?.endsWithMessage == true { sendMessage(result) }
      endStream(nil)
    }
  }

  private func succeed(_ result: UnsafeRawBufferPointer, _ binary: HTTPPlan.BinaryForm) {
    do throws(RPCError) {
      let bytes = try JSONToProtobuf.convert(result, binary.response, binary.index)
      answer(200, [("Content-Type", ConnectRequest.binaryUnaryType), ("Cache-Control", "no-store")], bytes)
    } catch { fail(error) }
  }

  private static func message(_ result: UnsafeRawBufferPointer) -> ByteBuffer {
    result.isEmpty ? ByteBuffer(staticString: "{}") : ByteBuffer(bytes: result)
  }

  private func succeedREST(_ result: UnsafeRawBufferPointer, _ exchange: HTTPExchange) {
    var headers = [("Content-Type", "application/json")]
    if let path = exchange.plan?.etag, let etag = Self.etag(of: result, path), let tag = EntityTag.header(etag) {
      headers += [("ETag", tag), ("Cache-Control", "private, no-cache")]
      if let asked = exchange.plan?.ifNoneMatch, EntityTag.noneMatch(asked, names: etag) {
        return write(304, headers, ByteBuffer())
      }
    } else {
      headers.append(("Cache-Control", "no-store"))
    }
    write(200, headers, Self.message(result))
  }

  private static func etag(of result: UnsafeRawBufferPointer, _ path: [String]) -> String? {
    var range = 0..<result.count
    for name in path {
      guard let member = RawJSON.members(result, range)?.first(where: { $0.name == name }) else { return nil }
      range = member.value
    }
    return RawJSON.string(result, range)
  }

  func fail(_ error: RPCError, headers: [(String, String)] = []) {
    guard let exchange else { return }
    if state.isHeadSent { return exchange.style.isStream ? endStream(error) : () }
    // A Connect stream always reports its error in the last envelope.
    if exchange.style == .connectStream, exchange.plan != nil {
      openStream()
      return endStream(error)
    }
    var fields = headers
    if let retryAfterMs = error.retryAfterMs { fields.append(("Retry-After", String((retryAfterMs + 999) / 1000))) }
    if error.code == .unauthenticated {
      let isMissing = error.reason == CredentialFault.missing.reason
      fields.append(("WWW-Authenticate", isMissing ? "Bearer" : "Bearer error=\"invalid_token\""))
    }
    if case .dialect(let plan) = exchange.decision {
      let answer = plan.failure(error)
      return write(answer.status, fields + answer.headers.map { ($0.name, $0.value) }, ByteBuffer(bytes: answer.body))
    }
    let isConnect = exchange.style == .connectUnary || exchange.style == .connectStream
    let hasCondition = exchange.plan?.hasCondition == true || exchange.upload != nil
    var status =
      isConnect ? HTTPStatusCode.ofConnect(error) : HTTPStatusCode.ofREST(error, hasCondition: hasCondition)
    // The only offset in a request is that of its range.
    if exchange.plan?.range != nil, error.fieldViolations.contains(where: { $0.field == "offset" }) { status = 416 }
    var writer = JSONWriter()
    if isConnect { ErrorBody.connect(error, to: &writer) } else { ErrorBody.rest(error, status: status, to: &writer) }
    fields += [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
    write(status, fields, writer.withUnsafeBytes { ByteBuffer(bytes: $0) })
  }

  // MARK: streams

  /// Opens the response of a streaming call that has started.
  func opened(_ plan: HTTPPlan) {
    switch plan.style {
    case .connectStream:
      openStream()
      flushSoon()
    case .events, .lines:
      // Delay the head, so that an immediate error can still set the status.
      let number = state.number
      let bound = NIOLoopBound(self, eventLoop: loop)
      loop.scheduleTask(in: .milliseconds(configuration.openingMs)) { bound.value.openLate(number) }
    default: break
    }
  }

  private func openLate(_ number: Int) {
    guard number == state.number, exchange?.call != nil else { return }
    openStream()
    flushSoon()
  }

  /// Writes the head of a stream, once.
  private func openStream() {
    guard let channelContext, let exchange, state.sendHead() else { return }
    var fields = commonHeaders(exchange)
    let type =
      switch exchange.style {
      case .connectStream:
        exchange.plan?.binary == nil ? ConnectRequest.streamType : ConnectRequest.binaryStreamType
      case .lines: RESTPlanner.linesType
      default: EventWriter.contentType
      }
    fields.add(name: "Content-Type", value: type)
    fields.add(name: "Cache-Control", value: "no-store")
    // Proxies must not buffer events.
    if exchange.style == .events { fields.add(name: "X-Accel-Buffering", value: "no") }
    if exchange.head.version.hasChunks { fields.add(name: "Transfer-Encoding", value: "chunked") }
    channelContext.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: fields))), promise: nil)
    if exchange.style == .events { writeBody { EventWriter.writeOpening(to: &$0) } }
  }

  func sendMessage(_ message: UnsafeRawBufferPointer) {
    if exchange?.style == .content { return sendContent(message) }
    openStream()
    guard let exchange, state.isHeadSent else { return }
    self.exchange?.hasSent = true
    if exchange.isBinary, let binary = exchange.plan?.binary { return sendBinary(message, binary) }
    writeBody { buffer in
      switch exchange.style {
      case .connectStream: ConnectEnvelope.write(message, to: &buffer)
      case .lines: Self.writeLine(message, to: &buffer)
      default: EventWriter.write(message, token: exchange.plan?.token, to: &buffer)
      }
    }
    flushSoon()
  }

  private func sendBinary(_ message: UnsafeRawBufferPointer, _ binary: HTTPPlan.BinaryForm) {
    do throws(RPCError) {
      let bytes = try JSONToProtobuf.convert(message, binary.response, binary.index)
      writeBody { ConnectEnvelope.write(binary: bytes, to: &$0) }
      flushSoon()
    } catch {
      guard let call = exchange?.call else { return }
      let bound = NIOLoopBound(call, eventLoop: loop)
      loop.execute { bound.value.abort(error) }
    }
  }

  private static func writeLine(_ message: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) {
    if message.isEmpty { buffer.writeStaticString("{}") }
    for byte in message { buffer.writeInteger(byte == 0x0A || byte == 0x0D ? 0x20 : byte) }
    buffer.writeStaticString("\n")
  }

  func ping() {
    writeBody { EventWriter.writePing(to: &$0) }
    flushSoon()
  }

  private func writeBody(_ body: (inout ByteBuffer) -> Void) {
    guard let channelContext else { return }
    var buffer = channelContext.channel.allocator.buffer(capacity: 256)
    body(&buffer)
    exchange?.lastWrite = .now()
    channelContext.write(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
  }

  private func endStream(_ error: RPCError?) {
    if exchange?.style == .content { return endContent(error) }
    openStream()
    guard let exchange, state.isHeadSent else { return }
    switch exchange.style {
    case .connectStream: writeBody { ConnectEnvelope.writeEnd(error, to: &$0) }
    case .lines: if let error { writeBody { Self.writeFailureLine(error, to: &$0) } }
    default:
      writeBody { if let error { EventWriter.writeFailure(error, to: &$0) } else { EventWriter.writeEnd(to: &$0) } }
    }
    // Without chunked encoding, the end of the connection marks the end of the stream.
    if !exchange.head.version.hasChunks { state.endAfterResponse() }
    finish()
  }

  private static func writeFailureLine(_ error: RPCError, to buffer: inout ByteBuffer) {
    var writer = JSONWriter()
    ErrorBody.rest(error, status: HTTPStatusCode.of(error.code), to: &writer)
    writer.withUnsafeBytes { writeLine($0, to: &buffer) }
  }

  // MARK: errors of the gateway

  static let disconnected = RPCError(.cancelled, "the caller disconnected", reason: "CONNECTION_CLOSED")
  static let goingAway = RPCError(
    .unavailable, "the gateway is starting or shutting down", reason: "GATEWAY_DRAINING", retryAfterMs: 1000,
    processed: false)
  static let late = RPCError(
    .deadlineExceeded, "the deadline passed before the call arrived", reason: "DEADLINE_EXCEEDED", processed: false)
  static let isStream = RPCError(.unimplemented, "the method streams its responses", reason: "STREAM_UNSUPPORTED")
  static let noTunnels = RPCError(
    .invalidArgument, "CONNECT is not supported", reason: "REQUEST_INVALID", processed: false)
  static let tooSlow = RPCError(
    .deadlineExceeded, "the request took too long to arrive", reason: "REQUEST_TIMEOUT", processed: false)
  static let encodingUnsupported = RPCError(
    .unimplemented, "the content encoding must be identity, gzip or deflate", reason: "CONTENT_ENCODING_UNSUPPORTED",
    processed: false)
}
