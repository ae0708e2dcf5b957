import CampanileBase
import CampanileCrypto
import CampanileRPC

/// The cached identity of a connection's callers, which saves lookups per call. Used on the connection's event loop.
final class ConnectionCredentialCache {
  let address: String
  /// The limits of the address.
  let share: CallerShare
  private var credential: Credential?
  private var members: [UInt8]
  /// The last `authorization` value and its credential. Authenticating it again costs a hash.
  private var presented: (value: [UInt8], credential: Credential)?
  /// The share of the connection's first caller; that of the address if the caller is anonymous.
  private var firstShare: CallerShare?
  /// Whether several callers use the connection, for example through a proxy or a pool.
  private var isSharedConnection = false
  /// The last decision on a call's head, reused because callers repeat the same calls.
  private var admitted: HeadAdmission?

  init(address: String, share: CallerShare) {
    self.address = address
    self.share = share
    members = PrincipalMetadata.members([], address: address)
  }

  /// Returns the metadata members with the caller's identity and address, as JSON without braces. The result is cached,
  /// because the calls of a connection mostly have the same credential.
  @inline(__always)
  func members(of caller: Credential?) -> [UInt8] {
    if caller === credential { return members }
    return makeMembers(of: caller)
  }

  /// Returns the caller of a call. Throws as `CallerAuthenticator.caller`.
  @inline(__always)
  func caller(of call: ServerCall, _ authenticator: CallerAuthenticator, nowNs: Int64) throws(RPCError) -> Caller {
    guard !call.metadata.isEmpty, let value = Self.only("authorization", in: call.metadata) else {
      let caller = try authenticator.caller(of: call, from: share, nowNs: nowNs)
      if !call.hasConnectionForItself { note(caller) }
      return caller
    }
    // Compare in constant time: behind a proxy, a connection has many callers.
    if let presented, ConstantTime.equal(value, presented.value),
      presented.credential.fault(nowMs: authenticator.keys.nowMs) == nil
    {
      presented.credential.markUsed()
      call.servedWithCredential(of: presented.credential.principal)
      return .known(presented.credential)
    }
    let caller = try authenticator.caller(of: call, from: share, nowNs: nowNs)
    presented = caller.credential.map { (value, $0) }
    if let credential = caller.credential { call.servedWithCredential(of: credential.principal) }
    note(caller)
    return caller
  }

  /// Returns the decision that admits `caller` to the method of `route`.
  @inline(__always)
  func admitted(_ route: Route?, _ caller: Caller) -> HeadAdmission {
    if let admitted, admitted.fits(route, caller) { return admitted }
    let made = HeadAdmission(route, caller)
    admitted = made
    return made
  }

  private func note(_ caller: Caller) {
    let callerShare = caller.credential?.share ?? share
    if firstShare == nil { firstShare = callerShare }
    if firstShare !== callerShare { isSharedConnection = true }
  }

  /// Delays a caller that is refused too often. Skipped if other callers share the connection, because they would wait
  /// as well.
  func pace(_ call: ServerCall) {
    let caller = call.quota as? CallerShare
    guard caller == nil || call.hasConnectionForItself || !isSharedConnection else { return }
    let restNs = (caller ?? share).pace.restNs(nowNs: call.startedAt.nowNs)
    if restNs > 0 { call.rest(forNs: restNs) }
  }

  /// Returns the value of a key that occurs exactly once.
  private static func only(_ key: String, in metadata: Metadata) -> [UInt8]? {
    var found: String?
    for entry in metadata.entries where entry.key == key {
      guard found == nil else { return nil }
      found = entry.value
    }
    return found.map { Array($0.utf8) }
  }

  private func makeMembers(of caller: Credential?) -> [UInt8] {
    credential = caller
    members = PrincipalMetadata.members(caller?.metadataMembers ?? [], address: address)
    return members
  }
}
