import CampanileBase
import CampanileRPC
import NIOHTTP1

/// Decides what a request asks for from its head alone, before its body is read.
struct HTTPPlanner: Sendable {
  let table: HTTPTable
  let crossOrigin: CrossOriginPolicy
  /// Files to serve, by path.
  let files: [String: StaticFile]
  /// Nil if callers may use any host name for the gateway.
  let hostGuard: HostGuard?
  /// Dialects in order of precedence; they take precedence over the suite's own paths.
  let dialects: [any HTTPDialect]
  /// Relative links to the paths at which others are served.
  var redirects: [String: String] = [:]

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
    if request.method == "OPTIONS" { return try options(request) }
    return try routeMethod(request, &target)
  }

  private func routeMethod(
    _ request: RequestHead, _ target: inout HTTPJudgedTarget
  ) throws(RPCError) -> HTTPDecision {
    let path = String(request.path)
    if Self.operationsPaths.contains(path) { return request.method == "GET" ? .operations(path) : notAllowed(["GET"]) }
    if let file = files[path] {
      return StaticFile.methods.contains(request.method) ? file.answer(to: request) : notAllowed(StaticFile.methods)
    }
    if let link = redirects[path] {
      guard StaticFile.methods.contains(request.method) else { return notAllowed(StaticFile.methods) }
      return .answer(308, [("Location", link), ("Cache-Control", "no-cache")], [])
    }
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
      return .refusal(HTTPRefusal(error: HTTPRefusal.routeUnknown, style: .rest))
    }
  }

  /// Returns the response with the methods of the path: routing refuses OPTIONS, and lists them.
  private func options(_ request: RequestHead) throws(RPCError) -> HTTPDecision {
    // Neither OPTIONS nor a preflight is a call.
    var target = HTTPJudgedTarget()
    let methods: [String]
    let decision = try routeMethod(request, &target)
    switch decision {
    case .refusal(let refusal):
      guard let allowed = refusal.allowed else { return decision }
      methods = allowed
    case .dialect(let plan):
      guard !plan.allowed.isEmpty else { return .refusal(HTTPRefusal(error: HTTPRefusal.routeUnknown, style: .rest)) }
      methods = plan.allowed
    default: return decision
    }
    guard let method = request["access-control-request-method"] else {
      return .answer(204, [("Allow", (["OPTIONS"] + methods).joined(separator: ", "))], [])
    }
    let headers = crossOrigin.preflight(
      origin: request["origin"], method: method, of: methods,
      requestedHeaders: request["access-control-request-headers"])
    return headers.map { .answer(204, $0, []) } ?? .answer(403, [], [])
  }

  private static let hostNotAllowed = RPCError(
    .permissionDenied, "the Host header must name this machine or one of --allowed-hosts", reason: "HOST_NOT_ALLOWED",
    processed: false)

  private func notAllowed(_ methods: [String]) -> HTTPDecision { HTTPRefusal.notAllowed(methods, style: .rest) }
}

extension HTTPRefusal {
  static let routeUnknown = RPCError(
    .notFound, "no route matches this path", reason: "ROUTE_UNKNOWN", processed: false)

  /// - Parameter allowed: The supported HTTP methods, as in the header `Allow`.
  static func methodNotAllowed(_ allowed: String) -> RPCError {
    RPCError(.unimplemented, "the path supports only \(allowed)", reason: "METHOD_NOT_ALLOWED", processed: false)
  }

  static func notAllowed(_ methods: [String], style: HTTPPlan.Style) -> HTTPDecision {
    let allowed = methods.joined(separator: ", ")
    return .refusal(
      HTTPRefusal(error: methodNotAllowed(allowed), style: style, headers: [("Allow", allowed)], allowed: methods))
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
