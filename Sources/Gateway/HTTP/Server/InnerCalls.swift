import CampanileCodec
import CampanileRPC
import NIOCore
import Synchronization

/// Calls that the gateway makes to answer one request: each goes to its own dispatcher as if it had come over a connection, and
/// is judged there.
struct InnerCalls: Sendable {
  /// Who makes a call.
  enum Identity: Sendable, Hashable {
    /// The request's own `Authorization`; without one nobody.
    case bearer(String?)
    /// A member by a session of Attendance's, which judges it.
    case session(String)
    /// The gateway itself, under a name. For calls whose caller the service finds out, or that strangers may make in the dialect.
    case trusted(principal: String, scopes: String)
  }

  let dispatcher: any CallDispatcher
  let loops: CallLoops
  let loop: any EventLoop
  let remoteAddress: String
  /// What each call may take.
  static let timeoutMs: Int64 = 20_000
  /// Pages that one request asks for at most.
  static let pagesMax = 64

  /// Throws what the service answers, CANCELLED when the task is cancelled, and INTERNAL `RESPONSE_INVALID` for a response that
  /// is not the method's.
  func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, as identity: Identity, metadata extra: [(String, String)] = []
  ) async throws(RPCError) -> R {
    let head = Head(identity, extra, remoteAddress)
    let result = try await start(method, request.jsonUTF8Bytes(), head)
    var options = JSONDecodingOptions()
    options.ignoreUnknownFields = true
    do throws(ProtoJSONError) {
      return result.isEmpty ? R() : try R(jsonUTF8: result, options: options)
    } catch {
      throw RPCError(.internalError, "\(method.path) answered what cannot be read", reason: "RESPONSE_INVALID")
    }
  }

  private func start(
    _ method: MethodDescriptor, _ request: [UInt8], _ head: Head
  ) async throws(RPCError) -> [UInt8] {
    let promise = loop.makePromise(of: [UInt8].self)
    let slot = CallSlot()
    let path = Array(method.path.utf8)
    do {
      return try await withTaskCancellationHandler {
        loop.execute { [self] in
          let call = call(head, InnerTransport(self, promise))
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
    head.isTrusted
      ? ServerCall(trusted: transport, metadata: head.metadata)
      : ServerCall(transport: transport, metadata: head.metadata)
  }

  /// Begins a call that streams its requests: `deliver` them to it, as many as the wire's credit and what `onCredit` is told
  /// allow. `promise` gets its answer. Must be called on the loop.
  func stream(
    _ method: MethodDescriptor, as identity: Identity, metadata extra: [(String, String)] = [],
    promise: EventLoopPromise<[UInt8]>, onCredit: @escaping (Int) -> Void
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

  /// What a call's metadata says of who makes it.
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
        // The service counts logins by the address that they come from.
        let address = CallTransport.host(of: remoteAddress)
        if !address.isEmpty { metadata.add(address, for: PrincipalMetadata.addressKey) }
      }
      for (key, value) in extra { metadata.add(value, for: key) }
    }
  }

  private static let cancelled = RPCError(.cancelled, "the caller is gone", reason: "CONNECTION_CLOSED")
}

/// The call of a task that may be cancelled before, while or after the call begins.
private final class CallSlot: Sendable {
  private struct State {
    var call: ServerCall?
    var isCancelled = false
  }
  private let state = Mutex(State())

  /// False when the task was cancelled already.
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

/// Takes the answer to one call.
private final class InnerTransport: CallTransport {
  private let promise: EventLoopPromise<[UInt8]>
  /// Told how many messages more the service takes. Let go with the answer.
  var onCredit: ((Int) -> Void)?

  init(_ calls: InnerCalls, _ promise: EventLoopPromise<[UInt8]>) {
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
  override func grantCredit(to call: ServerCall, messages: Int) { onCredit?(messages) }
}
