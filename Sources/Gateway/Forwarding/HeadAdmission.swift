package import CampanileBase
package import CampanileRPC

/// The admission of a call, decided from its head and used when its message has arrived.
final class HeadAdmission {
  let route: Route?
  let caller: Caller

  init(_ route: Route?, _ caller: Caller) {
    self.route = route
    self.caller = caller
  }

  /// Reports whether the same decision applies to another call.
  func fits(_ route: Route?, _ caller: Caller) -> Bool {
    self.route === route && self.caller.credential === caller.credential
  }
}

/// The refusal of a call, decided from the head of its frame before its message has arrived.
final class HeadRefusal {
  let error: RPCError

  init(_ error: RPCError) { self.error = error }
}

/// The admission of a request that the gateway serves by making calls itself: a request in a dialect, or an upload.
///
/// The request is counted once against its address. It also takes one token of its caller's rate, which covers the
/// first call. Each further call takes a token of its own. Used on the event loop of the request's connection.
package final class AdmittedRequest {
  let callerCache: ConnectionCredentialCache
  package let caller: Caller
  private var hasCovered = false

  init(_ callerCache: ConnectionCredentialCache, _ caller: Caller) {
    self.callerCache = callerCache
    self.caller = caller
  }

  /// Returns true for the first call only.
  func coversCall() -> Bool {
    defer { hasCovered = true }
    return !hasCovered
  }
}

/// The kind of a request that is not itself a call.
package enum RequestKind {
  /// A request served without a call: an unknown path, a preflight, health. Only the address's rate and a presented
  /// credential are checked.
  case plain
  /// A request served by calls that the gateway makes.
  ///
  /// - Parameter method: The method whose scope the request needs; nil if each call is authorized on its own.
  /// - Parameter isOpen: Whether the request is allowed without a credential.
  case calls(method: [UInt8]?, isOpen: Bool)
}

/// Admits HTTP requests by their heads, before any byte of their bodies is stored, decompressed or translated.
///
/// Used on the event loop of the request's connection. Admit each request exactly once, because admission counts it.
package protocol HeadJudge: Sendable {
  /// Checks the credential, scope and rate of a call, and stores the decision in the call for its dispatch.
  ///
  /// - Returns: The caller; or the refusal, which has been counted and has ended the call.
  func admit(_ call: ServerCall, method: UnsafeRawBufferPointer) -> Result<Caller, RPCError>

  /// Admits a request that is not itself a call. `call` represents it and has its credentials as metadata.
  func admit(_ call: ServerCall, as kind: RequestKind) -> Result<AdmittedRequest, RPCError>
}
