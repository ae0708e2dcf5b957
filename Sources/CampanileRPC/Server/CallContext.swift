/// The facts about a call that its handler may need in addition to the request.
public struct CallContext: Sendable {
  public var method: MethodDescriptor { reference.descriptor }
  private let reference: MethodReference
  /// The call's metadata, without the suite's reserved keys unless the connection is trusted.
  public var metadata: Metadata
  /// The caller; `nil` for callers without a credential, and on trusted connections whose peer names none.
  public var principal: Principal?
  /// The call's deadline, at which the handler's task is cancelled; `nil` for a stream whose caller set none.
  public var deadline: Deadline?
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
}

/// A descriptor shared by the contexts of all calls of a method: one reference count instead of one per stored string.
final class MethodReference: Sendable {
  let descriptor: MethodDescriptor

  init(_ descriptor: MethodDescriptor) { self.descriptor = descriptor }
}
