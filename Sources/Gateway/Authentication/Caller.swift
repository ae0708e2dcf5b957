import CampanileRPC

/// Who makes a call.
enum Caller {
  case anonymous
  case key(KeyEntry)
  /// A program of the operator, by the internal token: it may do everything, also speak for others.
  case trusted

  var entry: KeyEntry? { if case .key(let entry) = self { entry } else { nil } }
}

/// Finds out who makes a call, from its metadata or its connection.
struct CallerAuthenticator: Sendable {
  let keys: KeyRing

  /// Throws UNAUTHENTICATED for a credential that is wrong, also where none would be needed.
  @inline(__always)
  func caller(of call: ServerCall) throws(RPCError) -> Caller {
    if !call.metadata.isEmpty, let presented = try Self.bearer(call.metadata) {
      let entry = try keys.authenticate(presented).get()
      entry.markUsed()
      return .key(entry)
    }
    if !call.isTrusted, let principal = call.principal {
      // The key may have ended since the connection was opened.
      guard let id = ConnectionCredential.keyID(of: principal), let entry = keys.entry(id: id) else {
        throw CredentialFault.revoked
      }
      if let fault = entry.fault(nowMs: keys.nowMs) { throw fault }
      entry.markUsed()
      return .key(entry)
    }
    return call.isTrusted ? .trusted : .anonymous
  }

  /// The token of `authorization: Bearer …` (RFC 6750 section 2.1; the scheme in any case, RFC 9110 section 11.1).
  static func bearer(_ metadata: Metadata) throws(RPCError) -> String? {
    let values = metadata.values("authorization")
    guard let value = values.first else { return nil }
    guard values.count == 1, value.utf8.count <= 256 else { throw CredentialFault.invalid }
    let parts = value.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw CredentialFault.invalid }
    return String(parts[1])
  }
}

/// What a connection keeps of the credential that it was opened with.
///
/// A connection holds a principal and nothing else, so the key's id travels as its last scope. It has another form than any
/// scope (`k_…`), and stays inside the gateway: what a backend is told is made from the key itself.
enum ConnectionCredential {
  static func principal(of entry: KeyEntry) -> Principal {
    var principal = entry.principal
    principal.scopes.append(entry.id)
    return principal
  }

  @inline(__always)
  static func keyID(of principal: Principal) -> String? { principal.scopes.last }
}

/// Judges the token of `rpc.hello`: the suite's internal token, or an API key.
struct GatewayHelloAuthenticator: HelloAuthenticator {
  let keys: KeyRing
  let internalToken: InternalTokenAuthenticator

  func authenticate(token: String) -> HelloDecision {
    guard token.hasPrefix(ApiKeySecret.prefix) else {
      if case .trusted = internalToken.authenticate(token: token) { return .trusted }
      return .refused(CredentialFault.invalid)
    }
    switch keys.authenticate(token) {
    case .success(let entry):
      entry.markUsed()
      return .principal(ConnectionCredential.principal(of: entry))
    case .failure(let error): return .refused(error)
    }
  }
}
