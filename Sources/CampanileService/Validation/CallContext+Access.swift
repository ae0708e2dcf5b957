public import CampanileBase
import CampanileCodec
public import CampanileRPC

extension CallContext {
  /// Returns the calling user's id. Throws UNAUTHENTICATED without a caller, and PERMISSION_DENIED if the caller is not
  /// a user.
  public func requireUser() throws(RPCError) -> String {
    let principal = try requirePrincipal()
    guard principal.kind == .user else {
      throw RPCError(.permissionDenied, "\(principal.name) is not a user", reason: "PRINCIPAL_NOT_USER")
    }
    return principal.id
  }

  /// Throws UNAUTHENTICATED without a caller, and PERMISSION_DENIED unless the caller has the scope `admin`.
  public func requireAdmin() throws(RPCError) {
    let principal = try requirePrincipal()
    guard principal.scopes.contains("admin") else {
      throw RPCError(
        .permissionDenied, "\(principal.name) lacks the scope admin", reason: "SCOPE_MISSING",
        errorMetadata: ["scope": "admin"])
    }
  }

  /// Throws PERMISSION_DENIED unless the caller is a service with the method's scope (`<service>:operate`, or
  /// `<service>`), or has the scope `admin`. A caller without scopes has neither.
  public func requireOperator() throws(RPCError) {
    let scope = method.scope
    if let principal, principal.kind == .service, scope.hasSuffix(":operate"),
      principal.scopes.contains(where: { $0 == scope || $0 == scope.dropLast(":operate".count) })
    {
      return
    }
    try requireAdmin()
  }

  private func requirePrincipal() throws(RPCError) -> Principal {
    guard let principal else {
      throw RPCError(
        .unauthenticated, "the call has no principal: send a credential to the gateway", reason: "PRINCIPAL_MISSING")
    }
    return principal
  }
}
