/// What a handler knows of the call that it serves, beside the request.
public struct CallContext: Sendable {
  public var method: MethodDescriptor { reference.descriptor }
  private let reference: MethodReference
  /// Without the suite's reserved keys unless the link is trusted.
  public let metadata: Metadata
  /// Who calls; `nil` on links that are not trusted and for callers without a credential.
  public let principal: Principal?
  /// `nil` for a stream whose caller set none. The handler's task is cancelled when it passes.
  public let deadline: Deadline?
  /// The peer's address and port.
  public let remoteAddress: String

  public init(
    method: MethodDescriptor, metadata: Metadata = [:], principal: Principal? = nil, deadline: Deadline? = nil,
    remoteAddress: String = ""
  ) {
    self.init(
      reference: MethodReference(method), metadata: metadata, principal: principal, deadline: deadline,
      remoteAddress: remoteAddress)
  }

  init(
    reference: MethodReference, metadata: Metadata, principal: Principal?, deadline: Deadline?, remoteAddress: String
  ) {
    self.reference = reference
    self.metadata = metadata
    self.principal = principal
    self.deadline = deadline
    self.remoteAddress = remoteAddress
  }

  /// The user who calls. Throws UNAUTHENTICATED when nobody does and PERMISSION_DENIED when it is no user.
  public func requireUser() throws(RPCError) -> String {
    guard let principal else {
      throw RPCError(
        .unauthenticated, "the call has no principal: send a credential to the gateway", reason: "PRINCIPAL_MISSING")
    }
    guard principal.kind == .user else {
      throw RPCError(.permissionDenied, "\(principal.name) is not a user", reason: "PRINCIPAL_NOT_USER")
    }
    return principal.id
  }

  /// Throws PERMISSION_DENIED unless the caller has the scope `admin`.
  public func requireAdmin() throws(RPCError) {
    guard let principal else {
      throw RPCError(
        .unauthenticated, "the call has no principal: send a credential to the gateway", reason: "PRINCIPAL_MISSING")
    }
    guard principal.scopes.contains("admin") else {
      throw RPCError(
        .permissionDenied, "\(principal.name) lacks the scope admin", reason: "SCOPE_MISSING",
        errorMetadata: ["scope": "admin"])
    }
  }
}

/// A descriptor that the contexts of all calls of a method share: one thing to count instead of the many that it holds.
final class MethodReference: Sendable {
  let descriptor: MethodDescriptor

  init(_ descriptor: MethodDescriptor) { self.descriptor = descriptor }
}
