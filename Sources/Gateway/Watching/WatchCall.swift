import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import NIOCore

/// One watch of a stream: a call of the gateway's dispatcher, and its events that wait for their turns.
///
/// Used on the stream's loop only.
final class WatchCall {
  let id: String
  private unowned let stream: WatchStream
  private var call: ServerCall?
  private var events: [(event: WatchManyResponse, bytes: Int)] = []
  private(set) var isOver = false

  init(_ id: String, _ stream: WatchStream) {
    self.id = id
    self.stream = stream
  }

  /// Starts the call with the credential of the stream's caller.
  func start(_ method: MethodDescriptor, _ request: [UInt8], _ callLoops: CallLoops) {
    let caller = stream.call
    let transport = WatchTransport(self, caller, callLoops)
    var metadata = caller.identity
    let call: ServerCall
    if case .trusted = caller.caller {
      call = ServerCall(trusted: transport, metadata: metadata)
    } else {
      // Replaced by the credential of the admission, and not forwarded.
      metadata.add("Bearer -", for: "authorization")
      call = ServerCall(transport: transport, metadata: metadata)
    }
    let admitted = AdmittedRequest(caller.callerCache.value, caller.caller)
    // The request's own token was taken by the stream.
    _ = admitted.coversCall()
    call.admission = admitted
    self.call = call
    let path = Array(method.path.utf8)
    path.withUnsafeBytes { name in
      request.withUnsafeBytes { caller.dispatcher.startCall(call, method: name, params: $0) }
    }
  }

  // MARK: from the call

  func received(_ message: UnsafeRawBufferPointer) {
    guard !isOver else { return }
    let text = message.isEmpty ? "{}" : String(decoding: message, as: UTF8.self)
    add(.message(.init(messageJson: text, resumeToken: WatchMessages.resumeToken(of: message))), bytes: message.count)
  }

  /// Whether more of the stream's messages wait than the gateway keeps.
  var isUnread: Bool { !isOver && stream.waitingBytes > WatchStream.unreadBytesMax }

  func finished() {
    guard !isOver else { return }
    isOver = true
    add(.ended(.init()), bytes: 0)
    call = nil
  }

  func failed(_ error: RPCError) {
    guard !isOver else { return }
    isOver = true
    let delay = error.retryAfterMs.map { ProtoDuration(milliseconds: $0) }
    add(
      .failed(
        .init(
          code: Int32(error.code.rawValue), message: error.message, reason: error.reason, retryDelay: delay)),
      bytes: 0)
    call = nil
  }

  private func add(_ event: WatchManyResponse.Event, bytes: Int) {
    let isFirst = events.isEmpty
    events.append((WatchManyResponse(watchId: id, event: event), bytes))
    stream.waiting(bytes: bytes)
    if isFirst { stream.hasEvents(self) }
  }

  // MARK: from the stream

  /// Removes the oldest event. There is one.
  func take() -> (event: WatchManyResponse, bytes: Int, hasMore: Bool) {
    let first = events.removeFirst()
    return (first.event, first.bytes, !events.isEmpty)
  }

  /// Drops all events and returns their size.
  func drop() -> Int {
    defer { events = [] }
    return events.reduce(0) { $0 + $1.bytes }
  }

  /// Lets the service send more once all messages were taken.
  func grantCredit() {
    guard events.isEmpty, let call, stream.takesMore else { return }
    let bound = NIOLoopBound(call, eventLoop: stream.loop)
    stream.loop.execute { bound.value.restoreOutboundCredit() }
  }

  func cancel() {
    isOver = true
    guard let call else { return }
    self.call = nil
    let bound = NIOLoopBound(call, eventLoop: stream.loop)
    stream.loop.execute {
      bound.value.abort(RPCError(.cancelled, "the watch was removed", reason: "CONNECTION_CLOSED"))
    }
  }
}

/// The transport of a watch's call.
final class WatchTransport: CallTransport {
  private let watch: WatchCall

  init(_ watch: WatchCall, _ caller: LocalCall, _ callLoops: CallLoops) {
    self.watch = watch
    super.init(loops: callLoops, loop: caller.loop, limits: WireLimits())
    remoteAddress = caller.remoteAddress
  }

  override var isUnread: Bool { watch.isUnread }
  override var unreadBytesMax: Int { WatchStream.unreadBytesMax }

  override func reply(to call: ServerCall, result: UnsafeRawBufferPointer) { watch.finished() }
  override func reply(to call: ServerCall, error: RPCError) { watch.failed(error) }
  override func send(to call: ServerCall, message: UnsafeRawBufferPointer) {
    call.sent(bytes: message.count)
    watch.received(message)
  }
}
