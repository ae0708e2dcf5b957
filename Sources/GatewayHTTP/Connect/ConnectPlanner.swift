import CampanileBase
import CampanileRPC

/// Plans requests to `/<service>/<method>`: the Connect protocol, and event streams of the same methods.
struct ConnectPlanner {
  let table: HTTPTable

  func decide(_ request: RequestHead, _ target: inout HTTPJudgedTarget) throws(RPCError) -> HTTPDecision {
    let name = request.path.dropFirst()
    let method = table.method(name)
    target.method = method?.path ?? Array(name.utf8)
    switch request.method {
    case "POST":
      try request.checkSingles()
      return try post(request, name, method)
    case "GET": return try get(request, method, &target)
    default:
      return HTTPRefusal.notAllowed(method?.isReadable == true ? ["GET", "POST"] : ["POST"], style: .connectUnary)
    }
  }

  private func post(
    _ request: RequestHead, _ name: Substring, _ method: HTTPMethod?
  ) throws(RPCError) -> HTTPDecision {
    let kind = method?.descriptor.kind
    let isEvents = kind == .serverStreaming && request.accepts(EventWriter.contentType)
    let shape = ConnectRequest.shape(contentType: request["content-type"])
    // A method without a descriptor is assumed to be unary.
    let isUnary = kind.map { $0 == .unary || isEvents } ?? true
    // Events are text, and the binary form needs a descriptor.
    guard let shape, shape.isStream != isUnary, !shape.isBinary || method != nil && !isEvents else {
      let accepted =
        isUnary
        ? [ConnectRequest.unaryType, ConnectRequest.binaryUnaryType]
        : [ConnectRequest.streamType, ConnectRequest.binaryStreamType]
      return .refusal(.unsupportedType(accepted.joined(separator: ", "), style: .connectUnary))
    }
    try ConnectRequest.checkVersion(request["connect-protocol-version"])
    let encoding = request["connect-content-encoding"]?.lowercased() ?? "identity"
    guard isUnary || encoding == "identity" || encoding == "gzip" else {
      throw RPCError(
        .unimplemented, "the encoding of a stream must be identity or gzip", reason: "CONTENT_ENCODING_UNSUPPORTED",
        processed: false)
    }
    let style: HTTPPlan.Style = isEvents ? .events : isUnary ? .connectUnary : .connectStream
    let isGzip = encoding == "gzip"
    let params: HTTPPlan.Params =
      isUnary
      ? .body
      : kind?.streamsRequests == true ? .messages(isGzip: isGzip) : .envelope(isGzip: isGzip)
    var plan = HTTPPlan(method: Array(name.utf8), style: style, params: params, takesBody: true)
    plan.endsWithMessage = kind == .clientStreaming
    if shape.isBinary, let method { plan.binary = binary(method) }
    plan.metadata = try request.metadata()
    plan.timeoutMs = try ConnectRequest.timeoutMs(request["connect-timeout-ms"])
    plan.token = method?.token?.jsonName
    return .call(plan)
  }

  private func get(
    _ request: RequestHead, _ method: HTTPMethod?, _ target: inout HTTPJudgedTarget
  ) throws(RPCError) -> HTTPDecision {
    let isEvents = method?.descriptor.kind == .serverStreaming && request.accepts(EventWriter.contentType)
    let query = try QueryText(request.query)
    if isEvents { try target.readToken(query) }
    try request.checkSingles()
    guard let method, method.isReadOnlyUnary || isEvents && method.descriptor.idempotency == .noSideEffects else {
      return HTTPRefusal.notAllowed(["POST"], style: .connectUnary)
    }
    guard !request.hasBody else { throw HTTPPlan.bodyUnexpected }
    try ConnectRequest.checkVersion(request["connect-protocol-version"])
    let isBinary = try ConnectRequest.isBinary(query)
    guard !isBinary || !isEvents else {
      throw RPCError(.unimplemented, "events are text", reason: "CODEC_UNSUPPORTED", processed: false)
    }
    var resume: ParamsTree?
    if isEvents, let token = method.token, let last = request["last-event-id"] {
      resume = ParamsTree()
      _ = resume?.bind([token], FieldBinding.quoted(last))
    }
    var plan = HTTPPlan(
      method: method.path, style: isEvents ? .events : .connectUnary, params: .query(query, resume: resume),
      takesBody: false)
    if isBinary { plan.binary = binary(method) }
    plan.metadata = try request.metadata(queryToken: target.queryToken)
    plan.timeoutMs = try ConnectRequest.timeoutMs(request["connect-timeout-ms"])
    plan.token = method.token?.jsonName
    return .call(plan)
  }

  private func binary(_ method: HTTPMethod) -> HTTPPlan.BinaryForm {
    HTTPPlan.BinaryForm(
      index: table.index, request: method.descriptor.requestType, response: method.descriptor.responseType)
  }
}
