import CampanileBase
import CampanileRPC
import NIOCore

/// The gateway's dispatcher: authenticates each call, checks its limits and scope, and serves or forwards it.
///
/// Runs on the caller's event loop, without creating a task and without decoding the message.
final class Forwarder: CallDispatcher, HeadJudge {
  private let routes: RoutingTable
  private let authenticator: CallerAuthenticator
  private let admission: Admission
  private let memory: MemoryGuard
  private let local: any CallDispatcher
  private let loops: [LoopForwarder]
  private let replies: ReplyStore?
  private let otherRecorder: any MethodRecorder
  private let timeoutMsDefault: Int64
  private let refusals: RefusalCounts

  /// - Parameter replies: Stores the responses to calls with an idempotency key; `nil` ignores such keys.
  init(
    routes: RoutingTable, authenticator: CallerAuthenticator, admission: Admission, memory: MemoryGuard,
    local: any CallDispatcher, loops: [LoopForwarder], replies: ReplyStore?, observer: any ServerObserver,
    timeoutMsDefault: Int64, refusals: RefusalCounts = RefusalCounts()
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
    if call.admission != nil { return startAdmitted(call, method: method, params: params) }
    let route = routes.route(method)
    route?.observation?.begin(call)
    let callerCache = callerCache(of: call)
    let caller: Caller
    do throws(RPCError) {
      caller = try admit(call, callerCache, route)
    } catch {
      return refuse(call, error, route)
    }
    pass(call, caller, callerCache, route, method: method, params: params)
  }

  @inline(__always)
  private func pass(
    _ call: ServerCall, _ caller: Caller, _ callerCache: ConnectionCredentialCache, _ route: Route?,
    method: UnsafeRawBufferPointer,
    params: UnsafeRawBufferPointer
  ) {
    guard let route, case .backend(let index) = route.target else {
      // Unknown methods have no handler that needs the caller.
      guard route != nil else { return local.startCall(call, method: method, params: params) }
      return LocalCall.$current.withValue(LocalCall(call, caller, callerCache, self)) {
        local.startCall(call, method: method, params: params)
      }
    }
    forward(call, params, to: AdmittedCall(route: route, backend: index, caller: caller, callerCache: callerCache))
  }

  /// Starts a call that was admitted by its head, or that belongs to an admitted request.
  private func startAdmitted(
    _ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer
  ) {
    let (route, callerCache, caller): (Route?, ConnectionCredentialCache, Caller)
    if let admitted = call.admission as? HeadAdmission {
      (route, callerCache, caller) = (admitted.route, self.callerCache(of: call), admitted.caller)
      route?.observation?.begin(call)
      if let fault = fault(of: caller) { return refuse(call, fault, route) }
    } else if let request = call.admission as? AdmittedRequest {
      (route, callerCache) = (routes.route(method), request.callerCache)
      call.connectionAttachment = callerCache
      route?.observation?.begin(call)
      do throws(RPCError) { caller = try admit(call, of: request, route) } catch { return refuse(call, error, route) }
    } else if let refused = call.admission as? HeadRefusal {
      route = routes.route(method)
      route?.observation?.begin(call)
      // Counts the call against the rates, like every refused call.
      _ = try? admit(call, self.callerCache(of: call), route)
      return refuse(call, refused.error, route)
    } else {
      return refuse(call, Self.broken, nil)
    }
    pass(call, caller, callerCache, route, method: method, params: params)
  }

  /// Returns the fault of a credential that expired or was revoked while the message arrived.
  private func fault(of caller: Caller) -> RPCError? { caller.credential?.fault(nowMs: authenticator.keys.nowMs) }

  /// An admitted call and its destination.
  struct AdmittedCall {
    let route: Route
    let backend: Int
    let caller: Caller
    let callerCache: ConnectionCredentialCache
  }

  /// Returns the state of the call's connection; creates it with the first call.
  @inline(__always)
  private func callerCache(of call: ServerCall) -> ConnectionCredentialCache {
    if let kept = call.connectionAttachment as? ConnectionCredentialCache { return kept }
    let made = admission.callerCache(call.remoteHost, nowNs: call.startedAt.nowNs)
    call.connectionAttachment = made
    return made
  }

  /// Authenticates a call, counts it against the limits and checks its scope.
  ///
  /// - Parameter isCounted: Whether the call takes tokens of the rates; if not, it is counted when it starts.
  /// - Throws: UNAUTHENTICATED, PERMISSION_DENIED or RESOURCE_EXHAUSTED.
  @inline(__always)
  private func admit(
    _ call: ServerCall, _ callerCache: ConnectionCredentialCache, _ route: Route?, isCounted: Bool = true
  ) throws(RPCError) -> Caller {
    let nowNs = call.startedAt.nowNs
    if !call.isTrusted {
      if memory.isFull { throw LimitFault.memory }
      try admission.countCall(callerCache.share, nowNs: nowNs, isCounted: isCounted)
    }
    let caller = try callerCache.caller(of: call, authenticator, nowNs: nowNs)
    if case .trusted = caller {
      try authorize(caller, call, route)
      return caller
    }
    if let credential = caller.credential { call.quota = credential.share }
    try admission.countCall(of: caller.credential?.share, from: callerCache.share, nowNs: nowNs, isCounted: isCounted)
    try admission.countCall(to: route, nowNs: nowNs, isCounted: isCounted)
    try authorize(caller, call, route)
    return caller
  }

  /// Throws UNAUTHENTICATED if a required credential is missing, and PERMISSION_DENIED if it lacks the scope.
  ///
  /// - Parameter isOpen: Whether anonymous callers are allowed regardless of the method's requirement.
  @inline(__always)
  private func authorize(
    _ caller: Caller, _ call: ServerCall, _ route: Route?, isOpen: Bool = false
  ) throws(RPCError) {
    switch caller {
    case .trusted(let delegated):
      if let delegated, let route, !delegated.rights.allows(route.requirement) { throw scopeMissing(route) }
    case .anonymous:
      // Unknown methods also require a credential, so that anonymous callers cannot discover which methods exist.
      if isOpen || route?.requirement.kind == .open { return }
      guard let route, route.takesSessions, try PresentedSession.isPresented(call.metadata) else {
        throw CredentialFault.missing
      }
    case .known(let credential):
      if let route, !credential.rights.allows(route.requirement) { throw scopeMissing(route) }
    }
  }

  /// Authorizes one of the calls that serve an admitted request.
  private func admit(_ call: ServerCall, of request: AdmittedRequest, _ route: Route?) throws(RPCError) -> Caller {
    let isCovered = request.coversCall()
    // Trusted calls that the gateway makes for anonymous requests were counted with the request.
    let nowNs = call.startedAt.nowNs
    if call.isTrusted {
      let caller = try authenticator.caller(of: call, from: request.callerCache.share, nowNs: nowNs)
      try authorize(caller, call, route)
      return caller
    }
    if memory.isFull { throw LimitFault.memory }
    let caller = call.metadata["authorization"] == nil ? Caller.anonymous : request.caller
    if let fault = fault(of: caller) { throw fault }
    if let credential = caller.credential { call.quota = credential.share }
    if !isCovered {
      try admission.countCall(of: caller.credential?.share, from: request.callerCache.share, nowNs: nowNs)
    }
    try admission.countCall(to: route, nowNs: nowNs)
    try authorize(caller, call, route)
    return caller
  }

  private func refuse(_ call: ServerCall, _ error: RPCError, _ route: Route?) {
    if LimitFault.isOfCaller(error) { callerCache(of: call).pace(call) }
    let recorder = route?.recorder ?? otherRecorder
    recorder.callStarted(on: call.shard)
    refusals.count(error)
    call.fail(error)
    recorder.callFinished(code: error.code, durationNs: 0, on: call.shard)
    call.handlerEnded()
  }

  private func scopeMissing(_ route: Route) -> RPCError {
    let name = if case .backend(let index) = route.target { routes.serviceNames[index] } else { "" }
    let scope = route.requirement.scope(serviceName: name)
    return RPCError(
      .permissionDenied, "the credential lacks the scope \(scope)", reason: "SCOPE_MISSING",
      errorMetadata: ["scope": scope], processed: false)
  }

  // MARK: Admission by the head

  func refuses(_ call: ServerCall, method: UnsafeRawBufferPointer) -> Bool {
    do throws(RPCError) { _ = try admit(call, callerCache(of: call), routes.route(method), isCounted: false) } catch {
      call.admission = HeadRefusal(error)
    }
    return call.admission != nil
  }

  func admit(_ call: ServerCall, method: UnsafeRawBufferPointer) -> Result<Caller, RPCError> {
    let route = routes.route(method)
    let callerCache = callerCache(of: call)
    do throws(RPCError) {
      let caller = try admit(call, callerCache, route)
      call.admission = callerCache.admitted(route, caller)
      return .success(caller)
    } catch {
      route?.observation?.begin(call)
      refuse(call, error, route)
      return .failure(error)
    }
  }

  func admit(_ call: ServerCall, as kind: RequestKind) -> Result<AdmittedRequest, RPCError> {
    let callerCache = callerCache(of: call)
    let nowNs = call.startedAt.nowNs
    var route: Route?
    do throws(RPCError) {
      try admission.countCall(callerCache.share, nowNs: nowNs)
      guard case .calls(let method, let isOpen) = kind else {
        return .success(AdmittedRequest(callerCache, try callerCache.caller(of: call, authenticator, nowNs: nowNs)))
      }
      if memory.isFull { throw LimitFault.memory }
      route = method?.withUnsafeBytes { routes.route($0) }
      let caller = try callerCache.caller(of: call, authenticator, nowNs: nowNs)
      if let credential = caller.credential { call.quota = credential.share }
      try admission.countCall(of: caller.credential?.share, from: callerCache.share, nowNs: nowNs)
      try authorize(caller, call, route, isOpen: isOpen)
      return .success(AdmittedRequest(callerCache, caller))
    } catch {
      if case .plain = kind {
        refusals.count(error)
        if LimitFault.isOfCaller(error) { callerCache.pace(call) }
      } else {
        route?.observation?.begin(call)
        refuse(call, error, route)
      }
      return .failure(error)
    }
  }

  // MARK: Forwarding

  @inline(__always)
  private func loop(of call: ServerCall) -> LoopForwarder? {
    for candidate in loops where candidate.loop === call.eventLoop { return candidate }
    return nil
  }

  @inline(__always)
  private func forward(_ call: ServerCall, _ params: UnsafeRawBufferPointer, to admitted: AdmittedCall) {
    let route = admitted.route
    guard let owner = loop(of: call), admitted.backend < owner.pools.count else {
      return refuse(call, Self.broken, route)
    }
    let pool = owner.pools[admitted.backend]
    // Refuse before the backend sees the call. A method without a descriptor shows only later whether it streams.
    if route.isDescribed, route.kind != .unary, !call.mayStream {
      return refuse(call, BackendFailure.streamNotAllowed(processed: false), route)
    }
    if route.isDescribed, route.kind == .unary { call.setDeadline(timeoutMs: timeoutMsDefault) }
    var head = CallHead(method: route.path, kind: route.kind, deadline: call.deadline, waitForReady: false)
    let members: [UInt8]
    let credential = admitted.caller.credential
    if case .trusted(let delegated) = admitted.caller {
      members = trustedMembers(call.metadata, delegated)
    } else {
      members = admitted.callerCache.members(of: credential)
    }
    do throws(RPCError) {
      if !call.metadata.isEmpty {
        head.metadata = try forwardable(call.metadata, addedBytes: members.count, isTraced: call.scope != nil)
      }
      if route.isRepeatable, let replies, !call.metadata.isEmpty, let credential,
        let key = try IdempotencyHeader.key(in: call.metadata)
      {
        let request = BufferedRequest(
          admitted: admitted, owner: owner, head: head, members: members, params: [UInt8](params))
        return replies.start(call, request, key: key, principal: credential.principal.name)
      }
      let permit = try CallPermit(
        credential?.share, pool, isStream: route.kind != .unary, isBulk: route.isBulk, isLoopLate: owner.isLate)
      guard let address = pool.choose() else {
        permit.giveBack()
        throw Self.broken
      }
      let forwarded = ForwardedCall(
        call, route: route, permit: permit, address: address, owner: owner, credential: credential)
      owner.withMembers(members, forwarded) { forwarded.start(head, params: params, members: $0) }
    } catch {
      refuse(call, error, route)
    }
  }

  private static let broken = RPCError(
    .internalError, "the gateway has no route to the backend", reason: "ROUTE_BROKEN", processed: false)

  /// Returns the metadata to forward: without the credential and the keys that the gateway sets.
  private func forwardable(_ metadata: Metadata, addedBytes: Int, isTraced: Bool) throws(RPCError) -> Metadata {
    var metadata = metadata
    metadata.remove("authorization")
    metadata.remove(IdempotencyHeader.metadataKey)
    metadata.removeReserved()
    if isTraced { metadata.remove(TraceContext.parentKey) }
    let addedBytes = addedBytes + RequestIDs.sizeBytes + (isTraced ? LoopForwarder.traceSizeBytes : 0)
    guard metadata.sizeBytes + addedBytes <= Metadata.sizeBytesMax,
      metadata.entries.count + (isTraced ? 6 : 5) <= Metadata.entryCountMax
    else {
      var error = RPCError.invalidField(
        "metadata", "the gateway needs \(addedBytes) of the \(Metadata.sizeBytesMax) bytes",
        reason: "METADATA_TOO_LARGE")
      error.processed = false
      throw error
    }
    return metadata
  }

  /// Returns the members for a call of a trusted connection, which acts for the caller that it names, or else for the
  /// operator.
  ///
  /// The address was validated together with the caller.
  private func trustedMembers(_ metadata: Metadata, _ delegated: DelegatedCaller?) -> [UInt8] {
    PrincipalMetadata.members(
      delegated?.metadataMembers ?? Self.operatorMembers, address: metadata[PrincipalMetadata.addressKey] ?? "")
  }

  private static let operatorMembers = PrincipalMetadata.members(principal: "service/operator", scopes: "admin")
}
