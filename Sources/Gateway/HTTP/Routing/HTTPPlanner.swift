import CampanileRPC
import NIOHTTP1

/// Decides by a request's head what it asks for, before anything of its body is read.
struct HTTPPlanner: Sendable {
  let table: HTTPTable
  let crossOrigin: CrossOriginPolicy
  let openAPI: [UInt8]
  let bodyBytesMax: Int
  /// Asked in their order, before the faces of the suite's own.
  let dialects: [any HTTPDialect]
  /// Why a presented credential is refused, whatever it was presented for.
  let credentialFault: @Sendable (Metadata) -> RPCError?

  static let operationsPaths: Set<String> = ["/metrics", "/healthz", "/readyz"]
  static let queryToken = "access_token"

  func decide(_ head: HTTPRequestHead) -> HTTPDecision {
    var style = HTTPPlan.Style.rest
    do throws(RPCError) {
      let request = try HTTPRequestText(head)
      style = request.errorStyle
      let decision = try route(request)
      switch decision {
      case .call, .upload: return decision
      default: break
      }
      // Where no call would judge it.
      var credentials = request.credentialHeaders
      if case .dialect(let plan) = decision {
        credentials = plan.authorization.map { [(name: "authorization", value: $0)] } ?? []
      }
      if let fault = credentialFault(try HeaderMetadata.read(credentials)) {
        if case .dialect(let plan) = decision { return .dialect(plan.refused(with: fault)) }
        return .refusal(HTTPRefusal(error: fault, style: style))
      }
      return decision
    } catch {
      return .refusal(HTTPRefusal(error: error, style: style))
    }
  }

  private func route(_ request: HTTPRequestText) throws(RPCError) -> HTTPDecision {
    if request.method == "OPTIONS" { return options(request) }
    let path = String(request.path)
    if Self.operationsPaths.contains(path) { return request.method == "GET" ? .operations(path) : notAllowed(["GET"]) }
    if path == "/openapi.json" {
      guard request.method == "GET" else { return notAllowed(["GET"]) }
      return .answer(200, [("Content-Type", "application/json"), ("Cache-Control", "no-cache")], openAPI)
    }
    let segments = try PathText.segments(of: request.path)
    for dialect in dialects {
      if let plan = try dialect.plan(request, segments: segments) { return .dialect(plan) }
    }
    if segments.count == 2, segments[0].contains("."), !segments[0].contains("%"), !segments[1].contains("%") {
      return try ConnectPlanner(table: table, bodyBytesMax: bodyBytesMax).decide(request)
    }
    if let decision = try AssetContent.decide(request, segments: segments, table: table) { return decision }
    switch try table.match(verb: request.method, segments: segments) {
    case .found(let binding, let captures):
      return .call(try RESTPlanner(binding: binding).plan(request, captures: captures))
    case .otherMethod(let methods): return notAllowed(methods)
    case .none:
      return .refusal(
        HTTPRefusal(
          error: RPCError(.notFound, "there is nothing at this path", reason: "ROUTE_UNKNOWN", processed: false),
          style: .rest))
    }
  }

  private func options(_ request: HTTPRequestText) -> HTTPDecision {
    guard let method = request["access-control-request-method"] else {
      return .answer(204, [("Allow", "OPTIONS, " + CrossOriginPolicy.methods)], [])
    }
    let headers = crossOrigin.preflight(
      origin: request["origin"], method: method, requestedHeaders: request["access-control-request-headers"])
    return headers.map { .answer(204, $0, []) } ?? .answer(403, [], [])
  }

  private func notAllowed(_ methods: [String]) -> HTTPDecision { HTTPRefusal.notAllowed(methods, style: .rest) }
}

extension HTTPRefusal {
  static func notAllowed(_ methods: [String], style: HTTPPlan.Style) -> HTTPDecision {
    let allowed = methods.joined(separator: ", ")
    return .refusal(
      HTTPRefusal(
        error: RPCError(
          .unimplemented, "the path takes \(allowed)", reason: "METHOD_NOT_ALLOWED", processed: false),
        style: style, headers: [("Allow", allowed)]))
  }

  static func unsupportedType(_ accepted: String, style: HTTPPlan.Style) -> HTTPRefusal {
    HTTPRefusal(
      error: RPCError(
        .invalidArgument, "the content type must be \(accepted)", reason: "CONTENT_TYPE_UNSUPPORTED", processed: false),
      style: style, headers: [("Accept-Post", accepted)])
  }
}

/// A request's head as text: what the planners read.
struct HTTPRequestText {
  let method: String
  let path: Substring
  let query: Substring
  let headers: HTTPHeaders

  /// Throws INVALID_ARGUMENT for what no two readers must see differently: a target that is no path, more than one `Host`, or more
  /// than one of a header that has one value.
  init(_ head: HTTPRequestHead) throws(RPCError) {
    method = head.method.rawValue
    headers = head.headers
    guard head.uri.utf8.count <= PathText.targetBytesMax else {
      throw Self.invalid("the target is longer than \(PathText.targetBytesMax) bytes")
    }
    guard !head.uri.utf8.contains(UInt8(ascii: "#")) else { throw Self.invalid("the target has a fragment") }
    let mark = head.uri.firstIndex(of: "?") ?? head.uri.endIndex
    path = head.uri[..<mark]
    query = mark == head.uri.endIndex ? "" : head.uri[head.uri.index(after: mark)...]
    let hosts = headers["host"].count
    guard hosts == 1 || hosts == 0 && !head.version.hasChunks else { throw Self.invalid("there must be one Host") }
    for name in ["authorization", "content-type", "content-length", "connect-timeout-ms", "if-match", "last-event-id"] {
      guard headers[name].count <= 1 else { throw Self.invalid("\(name) comes more than once") }
    }
  }

  subscript(_ name: String) -> String? { headers.first(name: name) }

  /// Whether a body follows.
  var hasBody: Bool {
    if headers.contains(name: "transfer-encoding") { return true }
    return self["content-length"].flatMap { Int64($0) } ?? 0 > 0
  }

  /// Whether `Accept` names this type before all; a missing header and `*/*` do not.
  func accepts(_ type: String) -> Bool {
    headers[canonicalForm: "accept"].contains { entry in
      entry.split(separator: ";").first.map { String($0).trimmingSpaces.lowercased() } == type
    }
  }

  /// The face whose errors the caller understands.
  var errorStyle: HTTPPlan.Style {
    let segments = path.split(separator: "/")
    return segments.count == 2 && segments[0].contains(".") ? .connectUnary : .rest
  }

  var credentialHeaders: [(name: String, value: String)] {
    headers.filter { $0.name.lowercased() == "authorization" }.map { (name: $0.name, value: $0.value) }
  }

  /// The call's metadata, with the token of an event stream's URL, which has no other place in a browser (RFC 6750 section 2.3).
  func metadata(queryToken: String? = nil) throws(RPCError) -> Metadata {
    var metadata = try HeaderMetadata.read(headers.lazy.map { (name: $0.name, value: $0.value) })
    if let queryToken {
      guard metadata["authorization"] == nil else { throw Self.invalid("there are two credentials") }
      metadata.add("Bearer \(queryToken)", for: "authorization")
    }
    return metadata
  }

  private static func invalid(_ why: String) -> RPCError {
    RPCError(.invalidArgument, why, reason: "REQUEST_INVALID", processed: false)
  }
}

extension HTTPVersion {
  /// 1.1 and later: bodies of unknown length, kept connections, and `Host`.
  var hasChunks: Bool { major > 1 || major == 1 && minor >= 1 }
}
