package import CampanileBase
package import CampanileCodec
package import CampanileRPC
import Gateway
import NIOCore
import Synchronization

/// Calls that the gateway makes itself to serve one HTTP request.
///
/// Each call goes through the gateway's dispatcher as if it had arrived over a connection. The caller was authenticated
/// with the request; the dispatcher authorizes each call.
package struct InnerCalls: Sendable {
  /// The caller of an inner call.
  package enum Identity: Sendable, Hashable {
    /// The request's `Authorization` header; anonymous if nil.
    case bearer(String?)
    /// A member identified by an Attendance session token, which Attendance validates.
    case session(String)
    /// The gateway itself, under a principal name. For calls whose caller the service identifies, or that the dialect
    /// allows without a credential.
    case trusted(principal: String, scopes: String)
  }

  let dispatcher: any CallDispatcher
  let loops: CallLoops
  let loop: any EventLoop
  let remoteAddress: String
  /// The admission of the request that these calls serve.
  let request: NIOLoopBound<AdmittedRequest>
  /// The deadline of each call.
  static let timeoutMs: Int64 = 20_000
  /// The maximum number of pages fetched for one request.
  package static let pagesMax = 64

  /// Makes a unary call.
  ///
  /// - Throws: The service's error, CANCELLED if the task is cancelled, or INTERNAL `RESPONSE_INVALID` if the response
  ///   cannot be decoded.
  package func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, as identity: Identity, metadata extra: [(String, String)] = []
  ) async throws(RPCError) -> R {
    let head = Head(identity, extra, remoteAddress)
    let result = try await start(method, request.jsonUTF8Bytes(), head)
    do throws(ProtoJSONError) {
      return result.isEmpty ? R() : try R(jsonUTF8: result)
    } catch {
      throw RPCError(.internalError, "cannot decode the response of \(method.path)", reason: "RESPONSE_INVALID")
    }
  }

  /// Makes a server-streaming call and returns all its messages.
  ///
  /// - Parameter bytesMax: The maximum size of all messages in JSON.
  /// - Throws: The errors of `unary`, and RESOURCE_EXHAUSTED `ANSWER_TOO_LONG` for longer messages.
  package func collect<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, as identity: Identity, bytesMax: Int
  ) async throws(RPCError) -> [R] {
    let received = InnerMessages(sizeBytesMax: bytesMax)
    _ = try await start(method, request.jsonUTF8Bytes(), Head(identity, [], remoteAddress), messages: received)
    do throws(ProtoJSONError) {
      var messages: [R] = []
      for message in received.taken { messages.append(try R(jsonUTF8: message)) }
      return messages
    } catch {
      throw RPCError(.internalError, "cannot decode a message of \(method.path)", reason: "RESPONSE_INVALID")
    }
  }

  private func start(
    _ method: MethodDescriptor, _ request: [UInt8], _ head: Head, messages: InnerMessages? = nil
  ) async throws(RPCError) -> [UInt8] {
    let promise = loop.makePromise(of: [UInt8].self)
    let slot = CallSlot()
    let path = Array(method.path.utf8)
    do {
      return try await withTaskCancellationHandler {
        loop.execute { [self] in
          let transport = InnerTransport(self, promise)
          transport.messages = messages
          let call = call(head, transport)
          call.setDeadline(timeoutMs: Self.timeoutMs)
          guard slot.keep(call) else { return call.abort(Self.cancelled) }
          path.withUnsafeBytes { name in
            request.withUnsafeBytes { dispatcher.startCall(call, method: name, params: $0) }
          }
        }
        return try await promise.futureResult.get()
      } onCancel: {
        guard let call = slot.cancel() else { return }
        loop.execute { call.abort(Self.cancelled) }
      }
    } catch {
      throw error as? RPCError ?? RPCError(.internalError, "the call failed", reason: "CALL_FAILED")
    }
  }

  private func call(_ head: Head, _ transport: InnerTransport) -> ServerCall {
    let call =
      head.isTrusted
      ? ServerCall(trusted: transport, metadata: head.metadata)
      : ServerCall(transport: transport, metadata: head.metadata)
    call.admission = request.value
    return call
  }

  /// Starts a client-streaming call. Must be called on the loop.
  ///
  /// Pass messages with `deliver` while the call takes them; `onCredit` reports that it takes more. The call's reply
  /// completes `promise`.
  func stream(
    _ method: MethodDescriptor, as identity: Identity, metadata extra: [(String, String)] = [],
    promise: EventLoopPromise<[UInt8]>, onCredit: @escaping () -> Void
  ) -> ServerCall {
    let transport = InnerTransport(self, promise)
    transport.onCredit = onCredit
    let call = call(Head(identity, extra, remoteAddress), transport)
    let path = Array(method.path.utf8)
    path.withUnsafeBytes {
      dispatcher.startCall(call, method: $0, params: UnsafeRawBufferPointer(start: nil, count: 0))
    }
    return call
  }

  /// The metadata that identifies a call's caller.
  private struct Head {
    var metadata = Metadata()
    var isTrusted = false

    init(_ identity: Identity, _ extra: [(String, String)], _ remoteAddress: String) {
      switch identity {
      case .bearer(let value): if let value { metadata.add(value, for: "authorization") }
      case .session(let token): metadata.add(token, for: PresentedSession.metadataKey)
      case .trusted(let principal, let scopes):
        isTrusted = true
        metadata.add(principal, for: Principal.metadataKey)
        if !scopes.isEmpty { metadata.add(scopes, for: Principal.scopesMetadataKey) }
        // The service counts login attempts by client address.
        let address = CallTransport.host(of: remoteAddress)
        if !address.isEmpty { metadata.add(address, for: Principal.addressMetadataKey) }
      }
      for (key, value) in extra { metadata.add(value, for: key) }
    }
  }

  private static let cancelled = RPCError(.cancelled, "the caller disconnected", reason: "CONNECTION_CLOSED")
}

/// Holds the call of a task that can be cancelled before, during or after the start of the call.
private final class CallSlot: Sendable {
  private struct State {
    var call: ServerCall?
    var isCancelled = false
  }
  private let state = Mutex(State())

  /// Stores the call. Returns false if the task has already been cancelled.
  func keep(_ call: ServerCall) -> Bool {
    state.withLock {
      guard !$0.isCancelled else { return false }
      $0.call = call
      return true
    }
  }

  func cancel() -> ServerCall? {
    state.withLock {
      $0.isCancelled = true
      return $0.call
    }
  }
}

/// The messages of a server stream. Filled on the call's loop, and read after the reply.
private final class InnerMessages: Sendable {
  private struct State {
    var messages: [[UInt8]] = []
    var sizeBytes = 0
  }
  let sizeBytesMax: Int
  private let state = Mutex(State())

  init(sizeBytesMax: Int) { self.sizeBytesMax = sizeBytesMax }

  static var tooLong: RPCError {
    RPCError(.resourceExhausted, "the stream is too long for one response", reason: "ANSWER_TOO_LONG")
  }

  var taken: [[UInt8]] { state.withLock { $0.messages } }

  /// Returns false if the messages are too long together.
  func take(_ message: UnsafeRawBufferPointer) -> Bool {
    state.withLock { state in
      state.sizeBytes += message.count
      guard state.sizeBytes <= sizeBytesMax else { return false }
      state.messages.append(Array(message))
      return true
    }
  }
}

/// The transport of one inner call. Completes a promise with the reply.
private final class InnerTransport: CallTransport {
  private let loop: any EventLoop
  private let promise: EventLoopPromise<[UInt8]>
  /// Called when the service accepts more messages. Released with the reply.
  var onCredit: (() -> Void)?
  /// The messages of a server stream; nil for a call without one.
  var messages: InnerMessages?

  init(_ calls: InnerCalls, _ promise: EventLoopPromise<[UInt8]>) {
    loop = calls.loop
    self.promise = promise
    super.init(loops: calls.loops, loop: calls.loop, limits: WireLimits())
    remoteAddress = calls.remoteAddress
  }

  override func reply(to call: ServerCall, result: UnsafeRawBufferPointer) {
    onCredit = nil
    promise.succeed(Array(result))
  }
  override func reply(to call: ServerCall, error: RPCError) {
    onCredit = nil
    promise.fail(error)
  }
  override func grantCredit(to call: ServerCall, _ credit: StreamCredit) { onCredit?() }
  override func send(to call: ServerCall, message: UnsafeRawBufferPointer) {
    call.sent(bytes: message.count)
    let isTaken = messages?.take(message) ?? false
    // Later, because the call is sending.
    let bound = NIOLoopBound(call, eventLoop: loop)
    loop.execute {
      if isTaken { bound.value.restoreOutboundCredit() } else { bound.value.abort(InnerMessages.tooLong) }
    }
  }
}
