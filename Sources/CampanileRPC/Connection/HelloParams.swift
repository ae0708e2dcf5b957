/// The params of `rpc.hello`.
struct HelloParams {
  /// The wire protocol version that this code implements.
  static let version = "1"

  var protocolVersion: String?
  var token: String?
  /// A client nonce; asks the server to prove that it knows the internal token.
  var nonce: String?

  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>?) {
    guard let range, var members = JSONObjectReader(bytes, range) else { return }
    while let member = members.next() {
      switch member.name {
      case "protocol":
        protocolVersion =
          JSONObjectReader.string(bytes, member.value) ?? JSONObjectReader.integer(bytes, member.value).map(String.init)
          ?? ""
      case "nonce": nonce = JSONObjectReader.string(bytes, member.value) ?? ""
      case "token": token = JSONObjectReader.string(bytes, member.value) ?? ""
      default: break
      }
    }
  }
}

/// The params of `rpc.prove`.
struct ProveParams {
  var proof = ""

  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>?) {
    guard let range, var members = JSONObjectReader(bytes, range) else { return }
    while let member = members.next() {
      if member.name == "proof" { proof = JSONObjectReader.string(bytes, member.value) ?? "" }
    }
  }
}
