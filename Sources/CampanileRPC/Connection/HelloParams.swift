/// The params of `rpc.hello`.
struct HelloParams {
  /// The version of the wire that this code speaks.
  static let version = "1"

  var protocolVersion: String?
  var token: String?

  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>?) {
    guard let range, var members = JSONObjectReader(bytes, range) else { return }
    while let member = members.next() {
      switch member.name {
      case "protocol":
        protocolVersion =
          JSONObjectReader.string(bytes, member.value) ?? JSONObjectReader.integer(bytes, member.value).map(String.init)
          ?? ""
      case "token": token = JSONObjectReader.string(bytes, member.value) ?? ""
      default: break
      }
    }
  }
}
