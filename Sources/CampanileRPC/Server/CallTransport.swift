public import CampanileBase
public import NIOCore
import CampanileCodec

/// A connection that receives calls and sends responses. Subclasses are the RPC server's own connections, and those of
/// other protocols that pass their calls to the same dispatcher.
///
/// Confined to one event loop. A call is completed at most once; later responses to it are dropped before they get
/// here.
open class CallTransport {
  let context: LoopContext
  let timeoutMsMax: Int64
  /// The peer's address and port. Behind a proxy it may change from one call to the next. A change of host discards the
  /// attachment.
  public final var remoteAddress = "" {
    didSet {
      guard remoteAddress != oldValue else { return }
      let host = Self.host(of: remoteAddress)
      if host != remoteHost { attachment = nil }
      remoteHost = host
    }
  }
  /// The peer's IP address without a port; empty if it has none.
  public private(set) final var remoteHost = ""
  /// The object that the `HelloAuthenticator` returned for the connection's credential.
  final var credential: AnyObject?
  /// The dispatcher's per-connection state, preserved from one call to the next.
  final var attachment: AnyObject?
  /// Whether the peer has presented no credential to a server that asks for one.
  public final var isStranger = false
  /// The arrival time of the latest call that was served with its own credential.
  final var credentialAt: NIODeadline?
  /// The principal whose budgets the connection uses; nil for those of its address group.
  private final var holderName: String?
  /// The connection's ticket in its listener's limits.
  public final var ticket: ConnectionTicket?
  /// Whether the peer accepts more data. After a change to true, the owner calls `canSend` of the waiting handlers.
  public final var isWritable = true
  /// The number of bytes in streamed messages that no handler has read yet.
  final var queuedMessageBytes = 0
  /// The number of bytes in messages to the peer that wait for its credit.
  final var heldBackBytes = 0
  /// The credit with which a call may begin to send messages to the peer, as the peer has announced it.
  final var outboundCredit = StreamCredit.initial
  /// The same in the other direction.
  final let inboundCredit: StreamCredit
  /// A buffer that grows with the first message encoded here: a gateway forwards bytes, and most of many connections
  /// are idle.
  private final var scratch = JSONWriter(capacity: 64)

  init(context: LoopContext, limits: WireLimits) {
    self.context = context
    timeoutMsMax = limits.timeoutMsMax
    inboundCredit = limits.streamCredit
  }

  /// Creates a transport on `loop`. Must be called on it.
  public init(loops: CallLoops, loop: any EventLoop, limits: WireLimits) {
    context = loops.contexts.value(on: loop)
    timeoutMsMax = limits.timeoutMsMax
    inboundCredit = limits.streamCredit
  }

  /// Returns the address in `[IPv4]name/127.0.0.1:5000`. An IPv4-mapped address (RFC 4291 section 2.5.5.2) becomes
  /// IPv4.
  public static func host(of address: String) -> String {
    guard address.hasPrefix("[IPv"), let colon = address.lastIndex(of: ":") else { return "" }
    let start = address[..<colon].lastIndex(of: "/").map { address.index(after: $0) } ?? address.startIndex
    let host = IPAddress.unmapped(address[start..<colon])
    // The result is inserted into quoted text.
    return host.utf8.allSatisfy(isAddressByte) ? String(host) : ""
  }

  private static func isAddressByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "%"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// The holder of the bytes in the connection's buffers; see `WaitingBytesBudget`.
  public final var holder: String { holderName ?? addressHolder }
  /// The holder of the bytes buffered for a peer without a credential.
  public final var addressHolder: String { "address/" + AddressGroup.name(of: remoteHost) }

  /// Records that the peer has presented a valid credential, for the connection or for one call.
  ///
  /// - Parameter holder: The principal's name; nil if the credential names no principal.
  final func identified(as holder: String?) {
    holderName = holder
    ticket?.identified(as: holder)
    isStranger = false
  }

  /// Sends a result: the bytes of an object, or none for an empty one.
  open func reply(to call: ServerCall, result: UnsafeRawBufferPointer) {}
  open func reply(to call: ServerCall, error: RPCError) {}
  /// Sends an error object unchanged, as another server sent it.
  open func reply(to call: ServerCall, rawError: UnsafeRawBufferPointer) {
    reply(to: call, error: RPCError(errorObject: rawError, 0..<rawError.count))
  }
  /// Sends one message of the response stream. Calls `sent` of the call before anything that may send the next message.
  open func send(to call: ServerCall, message: UnsafeRawBufferPointer) {}
  /// Grants the caller credit for further messages.
  open func grantCredit(to call: ServerCall, _ credit: StreamCredit) {}
  /// Called after queued messages were read, or their call has ended.
  func queueShrank() {}
  /// Called once a call is complete, even if it gets no response.
  open func callAnswered(_ call: ServerCall) {}
  /// Called once no code runs for a call any more.
  open func handlerEnded() {}
  /// Stops reading calls from the peer until `deadline`, because it exceeds its limits.
  open func rest(until deadline: NIODeadline) {}
  /// Whether all calls are known to come from one caller, so that pausing the connection affects no others.
  open var hasOneCaller: Bool { credential != nil }

  /// Whether the unread bytes exceed `unreadBytesMax`, so that no long data may be added.
  open var isUnread: Bool { false }
  open var unreadBytesMax: Int { .max }

  final func reply(to call: ServerCall, message: some ProtoMessage) {
    scratch.removeAll(keepingCapacity: true)
    message.encode(to: &scratch)
    scratch.withUnsafeBytes { reply(to: call, result: $0) }
  }

  final func send(to call: ServerCall, message: some ProtoMessage) {
    scratch.removeAll(keepingCapacity: true)
    message.encode(to: &scratch)
    scratch.withUnsafeBytes { send(to: call, message: $0) }
  }
}

/// The deadlines and executors of event loops, shared by the transports of one listener.
public final class CallLoops: Sendable {
  let contexts = LoopLocal { LoopContext($0) }

  public init() {}
}

extension ServerCall {
  /// Creates a call that arrived over another protocol and uses the connection's credit for its stream alone.
  ///
  /// - Parameter metadata: The caller's metadata; keys with the reserved prefix are removed.
  public convenience init(transport: CallTransport, metadata: Metadata) {
    var metadata = metadata
    metadata.removeReserved()
    self.init(
      transport: transport, id: .number(0), batch: nil, metadata: metadata, isTrusted: false, principal: nil,
      startedAt: transport.context.loop.now)
  }

  /// Creates a call by the process itself, trusted like the operator's programs: `metadata` may name a principal.
  public convenience init(trusted transport: CallTransport, metadata: Metadata) {
    self.init(
      transport: transport, id: .number(0), batch: nil, metadata: metadata, isTrusted: true, principal: nil,
      startedAt: transport.context.loop.now)
  }

  /// Records that the call has its own valid credential. For `WireLimits.strangerIdleMs`, its connection is not treated
  /// as a stranger's.
  public func servedWithCredential(of principal: Principal) {
    transport.credentialAt = startedAt
    if transport.isStranger { transport.identified(as: principal.name) }
  }

  /// Whether the caller may send a message.
  public var takesMessage: Bool { inboundCredit.allowsMessage }
  /// Restores the credit with which the response stream began, because the caller has taken all of its messages.
  public func restoreOutboundCredit() { received(credit: outboundCredit.missing(to: transport.outboundCredit)) }
  /// Fails the call with `error` and cancels its handler, because the caller disconnected or was refused.
  public func abort(_ error: RPCError) { end(error) }
  /// Delivers one message of the caller's stream. Takes its bytes from the caller's credit.
  public func deliver(message: UnsafeRawBufferPointer) { received(message: message, sizeBytes: message.count) }
  /// Records that the caller sends no more messages.
  public func deliverHalfClose() { receivedHalfClose() }
}
