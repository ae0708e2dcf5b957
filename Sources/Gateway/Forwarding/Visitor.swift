import CampanileRPC

/// What the gateway keeps of a caller's connection, so that its calls need not look it up. Used on the connection's event loop.
final class Visitor {
  let address: String
  /// What the address may use.
  let share: CallerShare
  private var credential: Credential?
  private var members: [UInt8]

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

  private func makeMembers(of caller: Credential?) -> [UInt8] {
    credential = caller
    members = PrincipalMetadata.members(caller?.metadataMembers ?? [], address: address)
    return members
  }
}
