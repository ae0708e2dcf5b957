import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC

/// Implements `ConsoleService`. Admission has already checked that the caller has a credential.
struct ConsoleServiceImplementation: ConsoleServiceProtocol {
  let sessions: ConsoleSessions
  /// The console's path; `nil` if it is not served.
  let path: String?

  func listConsoleSessions(
    _ request: ListConsoleSessionsRequest, context: CallContext
  ) async throws -> ListConsoleSessionsResponse {
    try request.checkConstraints()
    let call = try Self.call()
    if request.allPrincipals, !call.isAdmin { throw Self.adminNeeded }
    let count = ApiKeyRequest.pageSize(request.pageSize)
    let start = try PagePosition.decode(request.pageToken, kind: request.allPrincipals ? "a" : "o")
    let principal = request.allPrincipals ? nil : call.principalName
    var found = sessions.list(of: principal)
    if let start { found = found.filter { ($0.stored.createdAtMs, $0.id) < (start.number, start.id) } }
    var response = ListConsoleSessionsResponse()
    response.sessions = found.prefix(count).map { ConsoleSessionView.session($0, of: call) }
    if found.count > count {
      let last = found[count - 1]
      response.nextPageToken = PagePosition.encode(
        kind: request.allPrincipals ? "a" : "o", number: last.stored.createdAtMs, id: last.id)
    }
    return response
  }

  func revokeConsoleSession(
    _ request: RevokeConsoleSessionRequest, context: CallContext
  ) async throws -> RevokeConsoleSessionResponse {
    try request.checkConstraints()
    let call = try Self.call()
    guard let session = sessions.session(id: request.sessionId),
      call.isAdmin || session.principalName == call.principalName
    else {
      throw RPCError(.notFound, "there is no session \(request.sessionId)", reason: "SESSION_NOT_FOUND")
    }
    try await AccessServiceImplementation.mapping { try await sessions.end(session, .sessionRevoked) }
    return RevokeConsoleSessionResponse()
  }

  func createSignInLink(
    _ request: CreateSignInLinkRequest, context: CallContext
  ) async throws -> CreateSignInLinkResponse {
    guard let path else {
      throw RPCError(
        .failedPrecondition, "the gateway serves no console; start it with --console", reason: "CONSOLE_DISABLED")
    }
    let call = try Self.call()
    guard let grant = grant(call) else {
      throw RPCError(
        .failedPrecondition, "a link needs an API key, or a console session of one", reason: "CREDENTIAL_NOT_SUPPORTED")
    }
    let (token, expiresAtMs) = try await sessions.links.make(grant)
    await sessions.audit.record(.signInLinkCreated, subject: grant.keyID)
    return CreateSignInLinkResponse(
      token: token, path: "\(path)/#link=\(token)", expireTime: ProtoTimestamp(millisecondsSince1970: expiresAtMs))
  }

  /// Returns the grant of a caller; nil if its credential cannot open a session.
  private func grant(_ call: LocalCall) -> ConsoleGrant? {
    switch call.caller {
    case .anonymous: return nil
    case .known(let credential): return sessions.grant(of: credential, .link)
    case .trusted(nil):
      let scopes = ["admin"].compactMap { Scope($0) }
      return ConsoleGrant(principal: Principal(kind: .service, id: "operator"), scopes: scopes, method: .link)
    // The scopes of a caller that a program names are not known to last.
    case .trusted: return nil
    }
  }

  func listAuditEvents(
    _ request: ListAuditEventsRequest, context: CallContext
  ) async throws -> ListAuditEventsResponse {
    try request.checkConstraints()
    let count = ApiKeyRequest.pageSize(request.pageSize)
    let kind = "e\(request.action.rawValue)"
    let start = try PagePosition.decode(request.pageToken, kind: kind)
    let found = try await AccessServiceImplementation.mapping {
      try await sessions.audit.repository.list(before: start?.number, action: request.action, count: count + 1)
    }
    var response = ListAuditEventsResponse()
    response.events = found.prefix(count).map { ConsoleSessionView.event($0) }
    if found.count > count {
      response.nextPageToken = PagePosition.encode(kind: kind, number: found[count - 1].id, id: "")
    }
    return response
  }

  private static func call() throws(RPCError) -> LocalCall {
    guard let call = LocalCall.current else { throw CredentialFault.missing }
    return call
  }

  private static let adminNeeded = RPCError(
    .permissionDenied, "the credential lacks the scope admin", reason: "SCOPE_MISSING",
    errorMetadata: ["scope": "admin"])
}

/// The views of sessions and events in `ConsoleService`.
enum ConsoleSessionView {
  static func session(_ session: OpenConsoleSession, of call: LocalCall) -> ConsoleSession {
    ConsoleSession(
      id: session.id, principal: session.principalName, method: session.stored.method, keyId: session.stored.keyID,
      createTime: ProtoTimestamp(millisecondsSince1970: session.stored.createdAtMs),
      lastUseTime: ProtoTimestamp(millisecondsSince1970: session.usedAtMs),
      expireTime: ProtoTimestamp(millisecondsSince1970: session.expiresAtMs),
      endTime: ProtoTimestamp(millisecondsSince1970: session.endsAtMs), address: session.stored.address,
      userAgent: session.stored.userAgent, current: session.credential === call.credential)
  }

  static func event(_ event: StoredAuditEvent) -> AuditEvent {
    AuditEvent(
      id: event.id, createTime: ProtoTimestamp(millisecondsSince1970: event.createdAtMs), action: event.action,
      principal: event.principal, address: event.address, subject: event.subject, method: event.method,
      count: Int32(clamping: event.count), reason: event.reason)
  }
}
