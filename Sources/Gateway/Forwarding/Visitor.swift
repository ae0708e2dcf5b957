import CampanileCrypto
import CampanileRPC

/// What the gateway keeps of a caller's connection, so that its calls need not look it up. Used on the connection's event loop.
final class Visitor {
  let address: String
  /// What the address may use.
  let share: CallerShare
  private var credential: Credential?
  private var members: [UInt8]
  /// What the connection's last call was made with, and what it stands for: asking anew costs a hash.
  private var presented: (value: [UInt8], credential: Credential)?
  /// Who made the connection's first call: a principal's share, or that of the address for a stranger.
  private var firstShare: CallerShare?
  /// Whether somebody else has called since, so that the connection is one of a proxy's or of a pool's.
  private var isSharedConnection = false

  init(address: String, share: CallerShare) {
    self.address = address
    self.share = share
    members = PrincipalMetadata.members([], address: address)
  }

  /// The metadata members that tell a backend who calls and from where, as JSON without braces. Made once for the credential
  /// that a connection's calls have, which is mostly the same one.
  @inline(__always)
  func members(of caller: Credential?) -> [UInt8] {
    if caller === credential { return members }
    return makeMembers(of: caller)
  }

  /// Who makes a call. Throws what `CallerAuthenticator.caller` throws.
  @inline(__always)
  func caller(of call: ServerCall, _ authenticator: CallerAuthenticator, nowNs: Int64) throws(RPCError) -> Caller {
    guard !call.metadata.isEmpty, let value = Self.only("authorization", in: call.metadata) else {
      let caller = try authenticator.caller(of: call, from: share, nowNs: nowNs)
      if !call.hasConnectionForItself { note(caller) }
      return caller
    }
    // Not faster for a value that begins alike: behind a proxy, a connection has many callers.
    if let presented, ConstantTime.equal(value, presented.value),
      presented.credential.fault(nowMs: authenticator.keys.nowMs) == nil
    {
      presented.credential.markUsed()
      return .known(presented.credential)
    }
    let caller = try authenticator.caller(of: call, from: share, nowNs: nowNs)
    presented = caller.credential.map { (value, $0) }
    note(caller)
    return caller
  }

  private func note(_ caller: Caller) {
    let callerShare = caller.credential?.share ?? share
    if firstShare == nil { firstShare = callerShare }
    if firstShare !== callerShare { isSharedConnection = true }
  }

  /// Has a caller wait that is refused very often. Where others call over the same connection they would wait too, so nobody does.
  func pace(_ call: ServerCall) {
    let caller = call.quota as? CallerShare
    guard caller == nil || call.hasConnectionForItself || !isSharedConnection else { return }
    let restNs = (caller ?? share).pace.restNs(nowNs: call.startedAt.nowNs)
    if restNs > 0 { call.rest(forNs: restNs) }
  }

  /// The value of a key that has one.
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
