import CampanileRPC
import NIOCore

/// The gateway's entry: authenticates each call, checks its scope, and serves it here or forwards it to a backend.
///
/// Everything happens on the caller's event loop, without a task and without decoding the message.
final class Forwarder: CallDispatcher {
  private let routes: RoutingTable
  private let authenticator: CallerAuthenticator
  private let admission: Admission
  private let memory: MemoryGuard
  private let local: any CallDispatcher
  private let loops: [LoopForwarder]
  private let replies: ReplyKeeper?
  private let otherRecorder: any MethodRecorder
  private let timeoutMsDefault: Int64
  private let refusals: RefusalBoard

  /// - Parameter replies: keeps the answers to calls that bring an idempotency key; without it such calls are as any other.
  init(
    routes: RoutingTable, authenticator: CallerAuthenticator, admission: Admission, memory: MemoryGuard,
    local: any CallDispatcher, loops: [LoopForwarder], replies: ReplyKeeper?, observer: any ServerObserver,
    timeoutMsDefault: Int64, refusals: RefusalBoard = RefusalBoard()
  ) {
    self.refusals = refusals
    self.routes = routes
    self.authenticator = authenticator
    self.admission = admission
    self.memory = memory
    self.local = local
    self.loops = loops
    self.replies = replies
    otherRecorder = observer.recorder(for: nil)
    self.timeoutMsDefault = timeoutMsDefault
  }

  func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
    let route = routes.route(method)
    route?.observation?.begin(call)
    let visitor = visitor(of: call)
    let caller: Caller
    do throws(RPCError) {
      caller = try admit(call, visitor, route)
    } catch {
      return refuse(call, error, route)
    }
    guard let route, case .backend(let index) = route.target else {
      return local.startCall(call, method: method, params: params)
    }
    forward(call, params, to: Way(route: route, backend: index, caller: caller, visitor: visitor))
  }

  /// What is known of a call once it may go on.
  struct Way {
    let route: Route
    let backend: Int
    let caller: Caller
    let visitor: Visitor
  }

  /// What is kept of the call's connection. Made with its first call.
  @inline(__always)
  private func visitor(of call: ServerCall) -> Visitor {
    if let kept = call.connectionAttachment as? Visitor { return kept }
    let made = admission.visitor(call.remoteHost, nowNs: call.startedAt.nowNs)
    call.connectionAttachment = made
    return made
  }

  /// Finds out who calls and whether they may. Throws UNAUTHENTICATED, PERMISSION_DENIED, or RESOURCE_EXHAUSTED.
  @inline(__always)
  private func admit(_ call: ServerCall, _ visitor: Visitor, _ route: Route?) throws(RPCError) -> Caller {
    let nowNs = call.startedAt.nowNs
    if !call.isTrusted {
      if memory.isFull { throw LimitFault.memory }
      try admission.countCall(visitor.share, nowNs: nowNs)
    }
    let caller = try visitor.caller(of: call, authenticator, nowNs: nowNs)
    switch caller {
    case .trusted: return caller
    case .anonymous:
      try admission.countCall(of: nil, from: visitor.share, route, nowNs: nowNs)
      // An unknown method needs a credential too, so that strangers cannot learn what exists.
      if route?.requirement.kind == .open { return caller }
      guard let route, route.takesSessions, try PresentedSession.isPresented(call.metadata) else {
        throw CredentialFault.missing
      }
    case .known(let credential):
      call.quota = credential.share
      try admission.countCall(of: credential.share, from: visitor.share, route, nowNs: nowNs)
      if let route, !credential.rights.allows(route.requirement) { throw scopeMissing(route) }
    }
    return caller
  }

  private func refuse(_ call: ServerCall, _ error: RPCError, _ route: Route?) {
    if LimitFault.isOfCaller(error) { visitor(of: call).pace(call) }
    let recorder = route?.recorder ?? otherRecorder
    recorder.callStarted(on: call.lane)
    refusals.count(error)
    call.fail(error)
    recorder.callFinished(code: error.code, durationNs: 0, on: call.lane)
    call.handlerEnded()
  }

  private func scopeMissing(_ route: Route) -> RPCError {
    let name = if case .backend(let index) = route.target { routes.serviceNames[index] } else { "" }
    let scope = route.requirement.scope(serviceName: name)
    return RPCError(
      .permissionDenied, "the credential lacks the scope \(scope)", reason: "SCOPE_MISSING",
      errorMetadata: ["scope": scope], processed: false)
  }

  // MARK: forwarding

  @inline(__always)
  private func loop(of call: ServerCall) -> LoopForwarder? {
    for candidate in loops where candidate.loop === call.eventLoop { return candidate }
    return nil
  }

  @inline(__always)
  private func forward(_ call: ServerCall, _ params: UnsafeRawBufferPointer, to way: Way) {
    let route = way.route
    guard let owner = loop(of: call), way.backend < owner.pools.count else { return refuse(call, Self.broken, route) }
    let pool = owner.pools[way.backend]
    // Before the backend hears of it. Of a method that no table describes only its first message tells that it is a stream.
    if route.isDescribed, route.kind != .unary, !call.mayStream {
      return refuse(call, BackendFailure.streamNotAllowed(processed: false), route)
    }
    if route.isDescribed, route.kind == .unary { call.setDeadline(timeoutMs: timeoutMsDefault) }
    var head = CallHead(method: route.path, kind: route.kind, deadline: call.deadline, waitForReady: false)
    let members: [UInt8]
    let credential = way.caller.credential
    if case .trusted = way.caller {
      members = trustedMembers(call.metadata)
    } else {
      members = way.visitor.members(of: credential)
    }
    do throws(RPCError) {
      if !call.metadata.isEmpty {
        head.metadata = try forwardable(call.metadata, addedBytes: members.count, isTraced: call.scope != nil)
      }
      if route.isRepeatable, let replies, !call.metadata.isEmpty, let credential,
        let key = try IdempotencyHeader.key(in: call.metadata)
      {
        let request = RepeatedRequest(
          way: way, owner: owner, head: head, members: members, params: [UInt8](params))
        return replies.start(call, request, key: key, principal: credential.principal.name)
      }
      let place = try Place(
        credential?.share, pool, isStream: route.kind != .unary, isBulk: route.isBulk, isLoopLate: owner.isLate)
      guard let address = pool.choose() else {
        place.giveBack()
        throw Self.broken
      }
      let forwarded = ForwardedCall(
        call, route: route, place: place, address: address, owner: owner, credential: credential)
      owner.withMembers(members, forwarded) { forwarded.start(head, params: params, members: $0) }
    } catch {
      refuse(call, error, route)
    }
  }

  private static let broken = RPCError(
    .internalError, "the gateway has no way there", reason: "ROUTE_BROKEN", processed: false)

  /// What a caller's metadata becomes: without its credential, and without the keys that the gateway sets.
  private func forwardable(_ metadata: Metadata, addedBytes: Int, isTraced: Bool) throws(RPCError) -> Metadata {
    var metadata = metadata
    metadata.remove("authorization")
    metadata.remove(IdempotencyHeader.metadataKey)
    metadata.removeReserved()
    if isTraced { metadata.remove(TraceContext.parentKey) }
    let addedBytes = addedBytes + RequestIDs.sizeBytes + (isTraced ? LoopForwarder.traceSizeBytes : 0)
    guard metadata.sizeBytes + addedBytes <= Metadata.sizeBytesMax,
      metadata.entries.count + (isTraced ? 5 : 4) <= Metadata.entryCountMax
    else {
      var error = RPCError.invalidField(
        "metadata", "the gateway needs \(addedBytes) of the \(Metadata.sizeBytesMax) bytes",
        reason: "METADATA_TOO_LARGE")
      error.processed = false
      throw error
    }
    return metadata
  }

  /// A trusted link may speak for someone, and tell from where; else it speaks for the operator.
  private func trustedMembers(_ metadata: Metadata) -> [UInt8] {
    guard !metadata.isEmpty else { return Self.operatorMembers }
    let told = metadata[PrincipalMetadata.addressKey] ?? ""
    let address = told.utf8.count <= 64 && told.utf8.allSatisfy(Self.isPlain) ? told : ""
    guard let principal = metadata[Principal.metadataKey].flatMap({ Principal($0) }) else {
      return PrincipalMetadata.members(Self.operatorMembers, address: address)
    }
    let scopes = (metadata[Principal.scopesMetadataKey] ?? "").split(separator: " ").compactMap { Scope(String($0)) }
    let members = PrincipalMetadata.members(
      principal: principal.name, scopes: scopes.prefix(ApiKeyLimits.scopesMax).map(\.description).joined(separator: " ")
    )
    return PrincipalMetadata.members(members, address: address)
  }

  /// Bytes of IP addresses.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "%"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private static let operatorMembers = PrincipalMetadata.members(principal: "service/operator", scopes: "admin")
}
