import CampanileRPC
import NIOCore

/// The gateway's entry: authenticates each call, checks its scope, and serves it here or forwards it to a backend.
///
/// Everything happens on the caller's event loop, without a task and without decoding the message.
final class Forwarder: CallDispatcher {
  private let routes: RoutingTable
  private let authenticator: CallerAuthenticator
  private let local: any CallDispatcher
  private let loops: [LoopForwarder]
  private let otherRecorder: any MethodRecorder
  private let timeoutMsDefault: Int64

  init(
    routes: RoutingTable, authenticator: CallerAuthenticator, local: any CallDispatcher, loops: [LoopForwarder],
    observer: any ServerObserver, timeoutMsDefault: Int64
  ) {
    self.routes = routes
    self.authenticator = authenticator
    self.local = local
    self.loops = loops
    otherRecorder = observer.recorder(for: nil)
    self.timeoutMsDefault = timeoutMsDefault
  }

  func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
    let route = routes.route(method)
    let caller: Caller
    do throws(RPCError) {
      caller = try authenticator.caller(of: call)
      try authorize(caller, route)
    } catch {
      return refuse(call, error, route)
    }
    guard let route, case .backend(let index) = route.target else {
      return local.startCall(call, method: method, params: params)
    }
    forward(call, params, route: route, backend: index, caller: caller)
  }

  private func refuse(_ call: ServerCall, _ error: RPCError, _ route: Route?) {
    let recorder = route?.recorder ?? otherRecorder
    recorder.callStarted()
    call.fail(error)
    recorder.callFinished(code: error.code, durationNs: 0)
    call.handlerEnded()
  }

  @inline(__always)
  private func authorize(_ caller: Caller, _ route: Route?) throws(RPCError) {
    switch caller {
    case .trusted: return
    case .anonymous:
      // An unknown method needs a credential too, so that strangers cannot learn what exists.
      if route?.requirement.kind != .open { throw CredentialFault.missing }
    case .key(let entry):
      guard let route, !entry.rights.allows(route.requirement) else { return }
      throw scopeMissing(route)
    }
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
  private func forward(
    _ call: ServerCall, _ params: UnsafeRawBufferPointer, route: Route, backend: Int, caller: Caller
  ) {
    guard let owner = loop(of: call), backend < owner.pools.count, let address = owner.pools[backend].choose() else {
      return refuse(
        call, RPCError(.internalError, "the gateway has no way there", reason: "ROUTE_BROKEN", processed: false), route)
    }
    // Before the backend hears of it. Of a method that no table describes only its first message tells that it is a stream.
    if route.isDescribed, route.kind != .unary, !call.mayStream {
      return refuse(call, BackendFailure.streamNotAllowed(processed: false), route)
    }
    if route.isDescribed, route.kind == .unary { call.setDeadline(timeoutMs: timeoutMsDefault) }
    var head = CallHead(method: route.path, kind: route.kind, deadline: call.deadline, waitForReady: false)
    var principal: [UInt8] = []
    let entry = caller.entry
    if let entry { principal = entry.metadataMembers } else { principal = trustedMembers(call.metadata) }
    if !call.metadata.isEmpty {
      do throws(RPCError) { head.metadata = try forwardable(call.metadata, entry) } catch {
        return refuse(call, error, route)
      }
    }
    let forwarded = ForwardedCall(
      call, route: route, pool: owner.pools[backend], address: address, owner: owner, credential: entry)
    owner.withMembers(principal) { members in forwarded.start(head, params: params, members: members) }
  }

  /// What a caller's metadata becomes: without its credential, and without the keys that the gateway sets.
  private func forwardable(_ metadata: Metadata, _ entry: KeyEntry?) throws(RPCError) -> Metadata {
    var metadata = metadata
    metadata.remove("authorization")
    metadata.removeReserved()
    let addedBytes = (entry?.metadataSizeBytes ?? 512) + RequestIDs.sizeBytes
    guard metadata.sizeBytes + addedBytes <= Metadata.sizeBytesMax, metadata.entries.count + 3 <= Metadata.entryCountMax
    else {
      var error = RPCError.invalidField(
        "metadata", "the gateway needs \(addedBytes) of the \(Metadata.sizeBytesMax) bytes",
        reason: "METADATA_TOO_LARGE")
      error.processed = false
      throw error
    }
    return metadata
  }

  /// A trusted link may speak for someone; else it speaks for the operator.
  private func trustedMembers(_ metadata: Metadata) -> [UInt8] {
    guard let principal = metadata[Principal.metadataKey].flatMap({ Principal($0) }) else {
      return Self.operatorMembers
    }
    let scopes = (metadata[Principal.scopesMetadataKey] ?? "").split(separator: " ").compactMap { Scope(String($0)) }
    return PrincipalMetadata.members(
      principal: principal.name, scopes: scopes.prefix(ApiKeyLimits.scopesMax).map(\.description).joined(separator: " ")
    )
  }

  private static let operatorMembers = PrincipalMetadata.members(principal: "service/operator", scopes: "admin")
}
