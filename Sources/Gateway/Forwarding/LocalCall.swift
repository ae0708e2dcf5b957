import CampanileRPC
import NIOCore

/// The caller of a call that the gateway serves itself, for its handler.
struct LocalCall: Sendable {
  /// The call that is being handled; nil outside of handlers.
  @TaskLocal static var current: LocalCall?

  let caller: Caller
  /// The caller's IP address; empty if it is not known.
  let address: String
  /// The peer's address and port.
  let remoteAddress: String
  /// The metadata that identifies the caller to services: a member's session, and what a trusted peer names.
  let identity: Metadata
  let loop: any EventLoop
  /// The admission of the caller's connection.
  let callerCache: NIOLoopBound<ConnectionCredentialCache>
  let dispatcher: any CallDispatcher

  init(
    _ call: ServerCall, _ caller: Caller, _ callerCache: ConnectionCredentialCache, _ dispatcher: any CallDispatcher
  ) {
    self.caller = caller
    self.dispatcher = dispatcher
    remoteAddress = call.remoteAddress
    address = call.isTrusted ? call.metadata[PrincipalMetadata.addressKey] ?? "" : call.remoteHost
    var identity = Metadata()
    for entry in call.metadata.entries
    where CallerMetadata.keys.contains(entry.key) || call.isTrusted && entry.key.hasPrefix(Metadata.reservedPrefix) {
      identity.add(entry.value, for: entry.key)
    }
    self.identity = identity
    loop = call.eventLoop
    self.callerCache = NIOLoopBound(callerCache, eventLoop: call.eventLoop)
  }

  var credential: Credential? { caller.credential }

  /// The principal's name; nil for a caller without a credential.
  var principalName: String? {
    switch caller {
    case .anonymous: nil
    case .known(let credential): credential.principal.name
    case .trusted: identity[Principal.metadataKey] ?? "service/operator"
    }
  }

  /// Whether the caller may call methods with the scope `admin`.
  var isAdmin: Bool {
    switch caller {
    case .anonymous: false
    case .known(let credential): credential.rights.isAdmin
    case .trusted(let delegated): delegated?.rights.isAdmin ?? true
    }
  }
}
