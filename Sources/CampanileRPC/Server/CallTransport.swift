public import NIOCore
import CampanileCodec

/// What calls arrive over and are answered through: a connection of the RPC server's, or a subclass that speaks another
/// protocol and hands its calls to the same dispatcher.
///
/// Confined to one event loop. A call is answered at most once; what comes for it later is dropped before it gets here.
open class CallTransport {
  let context: LoopContext
  let timeoutMsMax: Int64
  /// The peer's address and port. Over a proxy it may change from one call to the next, and what was kept of the peer goes with it.
  public final var remoteAddress = "" {
    didSet {
      guard remoteAddress != oldValue else { return }
      let host = Self.host(of: remoteAddress)
      if host != remoteHost { attachment = nil }
      remoteHost = host
    }
  }
  /// The peer's IP address alone; empty where it has none.
  public private(set) final var remoteHost = ""
  /// What the `HelloAuthenticator` made of the token that the connection was opened with.
  final var credential: AnyObject?
  /// What the dispatcher keeps of the connection from one call to the next.
  final var attachment: AnyObject?
  /// Whether the peer takes more. Who changes it to true calls `canSend` of the handlers that wait.
  public final var isWritable = true
  /// Bytes of streamed messages that no handler has taken yet.
  final var backlogBytes = 0
  /// Grows with the first message that is encoded here: a gateway passes on bytes, and most connections of a crowd are idle.
  private final var scratch = JSONWriter(capacity: 64)

  init(context: LoopContext, timeoutMsMax: Int64) {
    self.context = context
    self.timeoutMsMax = timeoutMsMax
  }

  /// Must be called on `loop`.
  public init(loops: CallLoops, loop: any EventLoop, limits: WireLimits) {
    context = loops.contexts.value(on: loop)
    timeoutMsMax = limits.timeoutMsMax
  }

  /// Of `[IPv4]name/127.0.0.1:5000` the address. One that IPv6 carries for IPv4 (RFC 4291 section 2.5.5.2) is that of IPv4.
  public static func host(of address: String) -> String {
    guard address.hasPrefix("[IPv"), let colon = address.lastIndex(of: ":") else { return "" }
    let start = address[..<colon].lastIndex(of: "/").map { address.index(after: $0) } ?? address.startIndex
    var host = address[start..<colon]
    if host.hasPrefix("::ffff:"), host.contains(".") { host = host.dropFirst(7) }
    // It becomes text inside of quotes.
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

  /// Answers with a result: the bytes of an object, or none for an empty one.
  open func reply(to call: ServerCall, result: UnsafeRawBufferPointer) {}
  open func reply(to call: ServerCall, error: RPCError) {}
  /// Answers with an error object as another server sent it.
  open func reply(to call: ServerCall, rawError: UnsafeRawBufferPointer) {
    reply(to: call, error: RPCError(errorObject: rawError, 0..<rawError.count))
  }
  /// Sends one message of the server's stream.
  open func send(to call: ServerCall, message: UnsafeRawBufferPointer) {}
  /// Lets the caller send `messages` more.
  open func grantCredit(to call: ServerCall, messages: Int) {}
  /// The call is answered, or the answer was not wanted.
  open func callAnswered(_ call: ServerCall) {}
  /// No code runs for a call any more.
  open func handlerEnded() {}
  /// The peer asks for more than it gets: takes no more calls of it before `deadline`.
  open func rest(until deadline: NIODeadline) {}
  /// Whether all calls are known to come from one caller, so that nobody else has to wait when it rests.
  open var hasOneCaller: Bool { credential != nil }

  /// Whether so much waits for the peer that nothing long may be added.
  open var isUnread: Bool { false }
  open var unreadBytesMax: Int { .max }
  open var backlogBytesMax: Int { .max }

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
  /// A call that came over another protocol, and has the connection's credit for its stream to itself.
  ///
  /// - Parameter metadata: as the caller sent it; the keys with the reserved prefix are removed.
  public convenience init(transport: CallTransport, metadata: Metadata) {
    var metadata = metadata
    metadata.removeReserved()
    self.init(
      transport: transport, id: .number(0), batch: nil, metadata: metadata, isTrusted: false, principal: nil,
      startedAt: transport.context.loop.now)
  }

  /// A call that the process makes itself, as a program of the operator's on a trusted link: `metadata` may name a principal.
  public convenience init(trusted transport: CallTransport, metadata: Metadata) {
    self.init(
      transport: transport, id: .number(0), batch: nil, metadata: metadata, isTrusted: true, principal: nil,
      startedAt: transport.context.loop.now)
  }

  /// The caller takes `messages` more of the server's stream.
  public func granted(messages: Int) { received(credit: messages) }
  /// The caller is gone or was refused: answers with `error`, and tells whoever works for the call.
  public func abort(_ error: RPCError) { end(error) }
  /// The caller sent one message of its stream.
  public func deliver(message: UnsafeRawBufferPointer) { received(message: message) }
  /// The caller sends no more messages.
  public func deliverHalfClose() { receivedHalfClose() }
}
