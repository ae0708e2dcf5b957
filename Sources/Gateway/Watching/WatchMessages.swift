import CampanileBase
import CampanileCodec
import CampanileRPC

/// The resume tokens in the requests and messages of watches.
///
/// A token is the message's `resumeToken`. Methods that number their messages instead get the token `sequence:NUMBER`,
/// which becomes the request's `afterSequence`; a `resumeToken` never contains a colon.
enum WatchMessages {
  static let sequencePrefix = "sequence:"

  /// Returns the token with which a watch resumes after a message; empty if the message has none.
  static func resumeToken(of message: UnsafeRawBufferPointer) -> String {
    guard let members = RawJSON.members(message, 0..<message.count) else { return "" }
    for member in members where member.name == "resumeToken" {
      if let token = RawJSON.string(message, member.value) { return token }
    }
    for member in members where member.name == "sequence" {
      if let number = RawJSON.string(message, member.value) { return sequencePrefix + number }
    }
    return ""
  }

  /// Returns a request that resumes after a token.
  ///
  /// - Parameters:
  ///   - request: The text of a JSON object; empty for an empty one.
  ///   - token: From `resumeToken`; empty to leave the request unchanged.
  /// - Throws: INVALID_ARGUMENT if the request is not a JSON object.
  static func request(_ request: String, resumingAfter token: String) throws(RPCError) -> [UInt8] {
    let bytes = Array((request.isEmpty ? "{}" : request).utf8)
    let result: Result<[UInt8], RPCError> = bytes.withUnsafeBytes { raw in
      do throws(RPCError) {
        try RawJSON.checkObject(raw)
        return .success(token.isEmpty ? bytes : resumed(raw, token))
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  private static func resumed(_ request: UnsafeRawBufferPointer, _ token: String) -> [UInt8] {
    let isNumbered = token.hasPrefix(sequencePrefix)
    let names: Set = isNumbered ? ["afterSequence", "after_sequence"] : ["resumeToken", "resume_token"]
    var writer = JSONWriter()
    let object = writer.beginObject()
    for member in RawJSON.members(request, 0..<request.count) ?? [] where !names.contains(member.name) {
      writer.key(member.name)
      writer.append(raw: UnsafeRawBufferPointer(rebasing: request[member.value]))
    }
    writer.key(isNumbered ? "afterSequence" : "resumeToken")
    writer.string(isNumbered ? String(token.dropFirst(sequencePrefix.count)) : token)
    writer.endObject(object)
    return writer.withUnsafeBytes { Array($0) }
  }
}
