package import CampanileBase
import CampanileRPC
import Gateway
package import NIOHTTP1

/// The parts of a request's head that the planners read.
package struct RequestHead {
  package let method: String
  let path: Substring
  package let query: Substring
  package let headers: HTTPHeaders

  /// Validates the parts of a head that two parsers must not interpret differently.
  ///
  /// - Throws: INVALID_ARGUMENT for a target that is not a path, for more than one `Host`, or for duplicates of a
  ///   single-value header.
  init(_ head: HTTPRequestHead) throws(RPCError) {
    method = head.method.rawValue
    headers = head.headers
    guard head.uri.utf8.count <= RequestPath.targetBytesMax else {
      throw Self.invalid("the target is longer than \(RequestPath.targetBytesMax) bytes")
    }
    guard !head.uri.utf8.contains(UInt8(ascii: "#")) else { throw Self.invalid("the target has a fragment") }
    let mark = head.uri.firstIndex(of: "?") ?? head.uri.endIndex
    path = head.uri[..<mark]
    query = mark == head.uri.endIndex ? "" : head.uri[head.uri.index(after: mark)...]
    let hosts = headers["host"].count
    guard hosts == 1 || hosts == 0 && !head.version.hasChunks else { throw Self.invalid("expected exactly one Host") }
    for name in ["authorization", "content-length", PresentedSession.metadataKey] where headers[name].count > 1 {
      throw Self.invalid("\(name) is given more than once")
    }
    if let fault = Self.transferFault(head) { throw fault }
  }

  /// Refuses a body that a proxy could delimit differently: `Transfer-Encoding` must be exactly `chunked`, over
  /// HTTP/1.1 (RFC 9112 section 6.1).
  private static func transferFault(_ head: HTTPRequestHead) -> RPCError? {
    let codings = head.headers["transfer-encoding"]
    guard let coding = codings.first else { return nil }
    guard head.version == .http1_1 else { return invalid("Transfer-Encoding requires HTTP/1.1") }
    guard codings.count == 1, coding.lowercased() == "chunked" else {
      return RPCError(
        .unimplemented, "Transfer-Encoding must be chunked", reason: "TRANSFER_ENCODING_UNSUPPORTED", processed: false)
    }
    return nil
  }

  /// Throws INVALID_ARGUMENT for duplicates of further single-value headers. Called once the target is known, so that
  /// admission takes precedence.
  func checkSingles() throws(RPCError) {
    for name in ["content-type", "content-encoding", "connect-timeout-ms", "if-match", "last-event-id"]
    where headers[name].count > 1 {
      throw Self.invalid("\(name) is given more than once")
    }
  }

  package subscript(_ name: String) -> String? { headers.first(name: name) }

  /// Whether the request has a body.
  package var hasBody: Bool {
    if headers.contains(name: "transfer-encoding") { return true }
    return self["content-length"].flatMap { Int64($0) } ?? 0 > 0
  }

  /// Refuses a body that is not JSON or that would not be read.
  ///
  /// Throws INVALID_ARGUMENT `CONTENT_TYPE_UNSUPPORTED` or `BODY_UNEXPECTED`. Requiring the JSON type also keeps forms
  /// on other sites from posting with a visitor's cookie.
  package func checkJSONBody(isTaken: Bool) throws(RPCError) {
    guard hasBody else { return }
    guard isTaken else { throw HTTPPlan.bodyUnexpected }
    guard ConnectRequest.shape(contentType: self["content-type"]) == .unary else {
      throw HTTPRefusal.unsupportedType(ConnectRequest.unaryType, style: .rest).error
    }
  }

  /// Returns whether `Accept` lists this type explicitly; a missing header or `*/*` does not.
  package func accepts(_ type: String) -> Bool {
    headers[canonicalForm: "accept"].contains { entry in
      entry.split(separator: ";").first.map { String($0).trimmingSpaces.lowercased() } == type
    }
  }

  /// The style of errors that the caller understands, by the request's path.
  var errorStyle: HTTPPlan.Style {
    let segments = path.split(separator: "/")
    return segments.count == 2 && segments[0].contains(".") ? .connectUnary : .rest
  }

  /// Returns the credentials that the call's metadata would have. Throws the errors of `metadata`.
  func credentials(_ queryToken: String?) throws(RPCError) -> Metadata {
    let names: Set<String> = ["authorization", PresentedSession.metadataKey]
    let presented = headers.lazy.filter { names.contains($0.name.lowercased()) }.map {
      (name: $0.name, value: $0.value)
    }
    return try with(queryToken, HeaderMetadata.read(presented))
  }

  /// Returns the call's metadata. Includes the token of an event stream's URL, because browsers cannot send it
  /// elsewhere (RFC 6750 section 2.3).
  func metadata(queryToken: String? = nil) throws(RPCError) -> Metadata {
    try with(queryToken, HeaderMetadata.read(headers.lazy.map { (name: $0.name, value: $0.value) }))
  }

  private func with(_ queryToken: String?, _ metadata: Metadata) throws(RPCError) -> Metadata {
    guard let queryToken else { return metadata }
    guard metadata["authorization"] == nil else { throw Self.twoCredentials }
    var metadata = metadata
    metadata.add("Bearer \(queryToken)", for: "authorization")
    return metadata
  }

  static let twoCredentials = invalid("the request has two credentials")

  private static func invalid(_ why: String) -> RPCError {
    RPCError(.invalidArgument, why, reason: "REQUEST_INVALID", processed: false)
  }
}

extension HTTPVersion {
  /// Whether this is HTTP/1.1 or later, which has chunked bodies, persistent connections and `Host`.
  var hasChunks: Bool { major > 1 || major == 1 && minor >= 1 }
}
