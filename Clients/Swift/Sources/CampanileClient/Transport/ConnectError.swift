import CampanileBase
import CampanileCodec

/// Decodes errors: the Connect protocol's form, and REST's, in which the gateway refuses some requests.
///
/// `{"code":"not_found","message":…,"details":[{"type":…,"debug":{…}}]}`, or the same in the member `error`, with the
/// code as `status`.
struct ConnectError {
  private var codeName: String?
  private var message: String?
  private var reason: String?
  private var metadata: [String: String] = [:]
  private var violations: [RPCError.FieldViolation] = []
  private var retryAfterMs: Int64?

  /// The maximum size of an error's JSON. Longer texts are ignored.
  static let sizeBytesMax = 64 * 1024

  /// Returns the error of a response. A body in another format, such as a proxy's page, leaves the status.
  static func error(_ head: HTTPHead, _ body: [UInt8]) -> RPCError {
    if (300..<400).contains(head.status) {
      return RPCError(
        .unavailable, "the server redirects to \(head["location"] ?? "another address"); use that address",
        reason: "REDIRECT_REFUSED")
    }
    var error = decoded(body)?.error(status: head.status) ?? ConnectError().error(status: head.status)
    if error.retryAfterMs == nil, let seconds = head["retry-after"].flatMap({ Int64($0) }), seconds >= 0 {
      error.retryAfterMs = min(seconds, 86_400) * 1000
    }
    return error
  }

  /// Returns the error of a stream's last envelope; `nil` if it has none.
  ///
  /// - Throws: The error of a malformed envelope.
  static func streamError(_ envelope: [UInt8]) throws(RPCError) -> RPCError? {
    guard let end = read(envelope, { (end, reader) throws(ProtoJSONError) in try end.readMembers(&reader) }) else {
      throw Self.invalidResponse("the end of the stream is not JSON")
    }
    return end.isEmpty ? nil : end.error(status: 200)
  }

  static func invalidResponse(_ what: String) -> RPCError {
    RPCError(.unavailable, "the response is not the gateway's: \(what)", reason: "RESPONSE_INVALID")
  }

  private static func decoded(_ body: [UInt8]) -> ConnectError? {
    guard body.count <= sizeBytesMax else { return nil }
    return read(body) { (error, reader) throws(ProtoJSONError) in try error.readMembers(&reader) }
  }

  private static func read(
    _ bytes: [UInt8], _ body: (inout ConnectError, inout JSONReader) throws(ProtoJSONError) -> Void
  ) -> ConnectError? {
    bytes.withUnsafeBytes { bytes in
      var error = ConnectError()
      var reader = JSONReader(bytes)
      do throws(ProtoJSONError) { try body(&error, &reader) } catch { return nil }
      return error
    }
  }

  private var isEmpty: Bool { codeName == nil && message == nil && reason == nil }

  private func error(status: Int) -> RPCError {
    // The protocol spells this code with one l.
    let name = codeName == "canceled" ? "CANCELLED" : codeName?.uppercased()
    return RPCError(
      name.flatMap { RPCError.Code(name: $0) } ?? Self.code(status: status),
      message ?? "the server responded with the status \(status)", reason: reason, errorMetadata: metadata,
      fieldViolations: violations, retryAfterMs: retryAfterMs)
  }

  /// Returns the code of a response without one, such as a proxy's (connectrpc.com/docs/protocol).
  private static func code(status: Int) -> RPCError.Code {
    switch status {
    case 400: .internalError
    case 401: .unauthenticated
    case 403: .permissionDenied
    case 404: .unimplemented
    case 408, 429, 502, 503, 504: .unavailable
    default: .unknown
    }
  }
}

// MARK: - Reading

extension ConnectError {
  private mutating func readMembers(_ reader: inout JSONReader) throws(ProtoJSONError) {
    var more = try reader.beginObject()
    while more {
      switch try reader.stringKey() {
      case "error": try readMembers(&reader)
      // REST has the HTTP status in `code`, and the name in `status`.
      case "code" where reader.peek() == UInt8(ascii: "\""): codeName = try reader.string()
      case "status" where reader.peek() == UInt8(ascii: "\""): codeName = try reader.string()
      case "message": message = try reader.string()
      case "details": try readDetails(&reader)
      default: try reader.skipValue()
      }
      more = try reader.nextMember()
    }
  }

  private mutating func readDetails(_ reader: inout JSONReader) throws(ProtoJSONError) {
    var more = try reader.beginArray()
    while more {
      try readDetail(&reader)
      more = try reader.nextElement()
    }
  }

  /// Reads a detail. The members of ErrorInfo, BadRequest and RetryInfo have different names.
  private mutating func readDetail(_ reader: inout JSONReader) throws(ProtoJSONError) {
    var more = try reader.beginObject()
    while more {
      switch try reader.stringKey() {
      case "debug": try readDetail(&reader)
      case "reason": reason = try reader.string()
      case "metadata": try readMetadata(&reader)
      case "fieldViolations": try readViolations(&reader)
      case "retryDelay": retryAfterMs = max(0, try ProtoDuration(from: &reader).milliseconds)
      default: try reader.skipValue()
      }
      more = try reader.nextMember()
    }
  }

  private mutating func readMetadata(_ reader: inout JSONReader) throws(ProtoJSONError) {
    var more = try reader.beginObject()
    while more {
      let key = try reader.stringKey()
      metadata[key] = try reader.string()
      more = try reader.nextMember()
    }
  }

  private mutating func readViolations(_ reader: inout JSONReader) throws(ProtoJSONError) {
    var more = try reader.beginArray()
    while more {
      var violation = RPCError.FieldViolation(field: "", description: "")
      var moreMembers = try reader.beginObject()
      while moreMembers {
        switch try reader.stringKey() {
        case "field": violation.field = try reader.string()
        case "description": violation.description = try reader.string()
        case "reason": violation.reason = try reader.string()
        default: try reader.skipValue()
        }
        moreMembers = try reader.nextMember()
      }
      violations.append(violation)
      more = try reader.nextElement()
    }
  }
}
