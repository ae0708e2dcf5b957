import CampanileBase
import CampanileRPC
package import NIOHTTP1
import Gateway

/// Decides what a request asks for from its head alone, before its body is read.
struct HTTPPlanner: Sendable {
  let table: HTTPTable
  let crossOrigin: CrossOriginPolicy
  let openAPI: OpenAPIPage
  /// Nil if callers may use any host name for the gateway.
  let hostGuard: HostGuard?
  /// Dialects in order of precedence; they take precedence over the suite's own paths.
  let dialects: [any HTTPDialect]

  static let operationsPaths: Set<String> = ["/healthz", "/readyz"]
  static let queryToken = "access_token"

  /// Decides how to handle a request.
  ///
  /// - Parameter target: Receives the data for admission, even if the request is refused.
  func decide(_ head: HTTPRequestHead, _ target: inout HTTPJudgedTarget) -> HTTPDecision {
    // Browsers always send `Host`, so an HTTP/1.0 request without it does not come from a web page.
    if let hostGuard, !head.headers["host"].allSatisfy(hostGuard.allows) {
      return .refusal(HTTPRefusal(error: Self.hostNotAllowed, style: .rest))
    }
    let request: RequestHead
    do throws(RPCError) { request = try RequestHead(head) } catch {
      // A proxy might see a different end of the request, or a different caller.
      return .refusal(HTTPRefusal(error: error, style: .rest, endsConnection: true))
    }
    var decision: HTTPDecision
    do throws(RPCError) { decision = try route(request, &target) } catch {
      decision = .refusal(HTTPRefusal(error: error, style: request.errorStyle))
    }
    switch decision {
    case .call, .upload, .dialect: return decision
    case .answer, .operations, .refusal: break
    }
    do throws(RPCError) { target.credentials = try request.credentials(target.queryToken) } catch {
      target.method = nil
      decision = .refusal(HTTPRefusal(error: error, style: request.errorStyle))
    }
    return decision
  }

  private func route(_ request: RequestHead, _ target: inout HTTPJudgedTarget) throws(RPCError) -> HTTPDecision {
    if request.method == "OPTIONS" { return options(request) }
    let path = String(request.path)
    if Self.operationsPaths.contains(path) { return request.method == "GET" ? .operations(path) : notAllowed(["GET"]) }
    if path == OpenAPIPage.path { return request.method == "GET" ? openAPI.answer(to: request) : notAllowed(["GET"]) }
    let segments = try RequestPath.segments(of: request.path)
    for dialect in dialects {
      if let plan = try dialect.plan(request, segments: segments) { return .dialect(plan) }
    }
    if segments.count == 2, segments[0].contains("."), !segments[0].contains("%"), !segments[1].contains("%") {
      return try ConnectPlanner(table: table).decide(request, &target)
    }
    if let decision = try AssetContent.decide(request, segments: segments, table: table, &target) { return decision }
    switch try table.match(verb: request.method, segments: segments) {
    case .found(let binding, let captures):
      target.method = binding.method.path
      return .call(try RESTPlanner(binding: binding).plan(request, captures: captures, &target))
    case .otherMethod(let methods): return notAllowed(methods)
    case .none:
      return .refusal(
        HTTPRefusal(
          error: RPCError(.notFound, "no route matches this path", reason: "ROUTE_UNKNOWN", processed: false),
          style: .rest))
    }
  }

  private func options(_ request: RequestHead) -> HTTPDecision {
    guard let method = request["access-control-request-method"] else {
      return .answer(204, [("Allow", "OPTIONS, " + CrossOriginPolicy.methods)], [])
    }
    let headers = crossOrigin.preflight(
      origin: request["origin"], method: method, requestedHeaders: request["access-control-request-headers"])
    return headers.map { .answer(204, $0, []) } ?? .answer(403, [], [])
  }

  private static let hostNotAllowed = RPCError(
    .permissionDenied, "the Host header must name this machine or one of --allowed-hosts", reason: "HOST_NOT_ALLOWED",
    processed: false)

  private func notAllowed(_ methods: [String]) -> HTTPDecision { HTTPRefusal.notAllowed(methods, style: .rest) }
}

extension HTTPRefusal {
  static func notAllowed(_ methods: [String], style: HTTPPlan.Style) -> HTTPDecision {
    let allowed = methods.joined(separator: ", ")
    return .refusal(
      HTTPRefusal(
        error: RPCError(
          .unimplemented, "the path supports only \(allowed)", reason: "METHOD_NOT_ALLOWED", processed: false),
        style: style, headers: [("Allow", allowed)]))
  }

  static func unsupportedType(_ accepted: String, style: HTTPPlan.Style) -> HTTPRefusal {
    HTTPRefusal(
      error: RPCError(
        .invalidArgument, "the content type must be \(accepted)", reason: "CONTENT_TYPE_UNSUPPORTED", processed: false),
      style: style, headers: [("Accept-Post", accepted)])
  }
}

/// The method and credentials for admitting a request that is refused or that needs no call.
struct HTTPJudgedTarget {
  /// The wire name of the requested method; nil if there is none.
  var method: [UInt8]?
  /// The credential in the query; for event streams only.
  var queryToken: String?
  /// Set if the decision is not a call.
  var credentials = Metadata()

  /// Reads the query's credential for an event stream. Throws INVALID_ARGUMENT `REQUEST_INVALID` if there are two.
  mutating func readToken(_ query: QueryText) throws(RPCError) {
    let tokens = query.parameters.filter { $0.name == HTTPPlanner.queryToken }
    guard tokens.count <= 1 else {
      // Two credentials identify no caller, so there is none to admit.
      method = nil
      throw RequestHead.twoCredentials
    }
    queryToken = tokens.first?.value
  }
}

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
  var hasBody: Bool {
    if headers.contains(name: "transfer-encoding") { return true }
    return self["content-length"].flatMap { Int64($0) } ?? 0 > 0
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
