import CampanileBase

/// The params of `rpc.hello`.
struct HelloParams {
  /// The wire protocol version that this code implements.
  static let version = "1"
  private static let namesMax = 100

  var token: String?
  /// A client nonce; asks the server to prove that it knows the internal token.
  var nonce: String?
  /// The length of the longest frame that the client accepts.
  var frameBytesMax: Int?
  /// The credit with which the server may begin to send a stream.
  var streamCredit: StreamCredit?

  /// Reads the params. Throws INVALID_ARGUMENT `HELLO_INVALID` for a member of another form, and FAILED_PRECONDITION
  /// `VERSION_UNSUPPORTED` if the client offers other versions only.
  init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>?) throws(RPCError) {
    guard let range, var members = JSONObjectReader(bytes, range) else { return }
    while let member = members.next() {
      switch member.name {
      case "versions":
        let versions = try Self.names(bytes, member)
        guard versions.contains(Self.version) else { throw Self.versionUnsupported }
      // This side has no capabilities, so none apply.
      case "capabilities": _ = try Self.names(bytes, member)
      case "maxFrameBytes":
        guard let value = JSONObjectReader.integer(bytes, member.value), value >= WireLimits.clientFrameBytesMin else {
          throw Self.invalid(member, "must be an integer of at least \(WireLimits.clientFrameBytesMin)")
        }
        frameBytesMax = Int(min(value, Int64(WireLimits.frameBytesCeiling)))
      case "streamCredit": streamCredit = try Self.credit(bytes, member)
      case "nonce": nonce = JSONObjectReader.string(bytes, member.value) ?? ""
      case "token": token = JSONObjectReader.string(bytes, member.value) ?? ""
      default: break
      }
    }
  }

  private static func names(
    _ bytes: UnsafeRawBufferPointer, _ member: JSONObjectReader.Member
  ) throws(RPCError) -> [String] {
    let values = JSONObjectReader.elements(bytes, member.value, countMax: namesMax + 1) ?? []
    let names = values.compactMap { JSONObjectReader.string(bytes, $0) }
    let isArray = bytes[member.value.lowerBound] == UInt8(ascii: "[")
    guard isArray, names.count == values.count, names.count <= namesMax else {
      throw invalid(member, "must be an array of at most \(namesMax) strings")
    }
    return names
  }

  private static func credit(
    _ bytes: UnsafeRawBufferPointer, _ member: JSONObjectReader.Member
  ) throws(RPCError) -> StreamCredit {
    let lowest = StreamCredit.initial
    let params = StreamParams(bytes, member.value)
    let messages = params?.messages ?? Int64(lowest.messages)
    let sizeBytes = params?.bytes ?? Int64(lowest.bytes)
    guard params != nil, (Int64(lowest.messages)...Int64(StreamCredit.max)).contains(messages),
      (Int64(lowest.bytes)...Int64(StreamCredit.max)).contains(sizeBytes)
    else {
      throw invalid(
        member, "must have \(lowest.messages) to 2^31 - 1 messages and \(lowest.bytes) to 2^31 - 1 bytes")
    }
    return StreamCredit(messages: Int(messages), bytes: Int(sizeBytes))
  }

  private static func invalid(_ member: JSONObjectReader.Member, _ why: String) -> RPCError {
    var error = RPCError.invalidField(member.name, why, reason: "HELLO_INVALID")
    error.processed = false
    return error
  }

  static let versionUnsupported = RPCError(
    .failedPrecondition, "the versions of the wire protocol differ: this side has \(version)",
    reason: "VERSION_UNSUPPORTED", errorMetadata: ["versions": version], processed: false)
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
