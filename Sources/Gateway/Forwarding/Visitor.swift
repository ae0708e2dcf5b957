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
      return try authenticator.caller(of: call, from: share, nowNs: nowNs)
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
    return caller
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
