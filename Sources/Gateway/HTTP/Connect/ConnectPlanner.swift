import CampanileRPC

/// Requests to `/<service>/<method>`: the Connect protocol, and event streams of the same methods.
struct ConnectPlanner {
  let table: HTTPTable
  let bodyBytesMax: Int

  func decide(_ request: HTTPRequestText) throws(RPCError) -> HTTPDecision {
    let name = request.path.dropFirst()
    let method = table.method(name)
    switch request.method {
    case "POST": return try post(request, name, method)
    case "GET": return try get(request, name, method)
    default: return HTTPRefusal.notAllowed(["GET", "POST"], style: .connectUnary)
    }
  }

  private func post(
    _ request: HTTPRequestText, _ name: Substring, _ method: HTTPMethod?
  ) throws(RPCError) -> HTTPDecision {
    let kind = method?.descriptor.kind
    let isEvents = kind == .serverStreaming && request.accepts(EventWriter.contentType)
    let shape = ConnectRequest.shape(contentType: request["content-type"])
    // A method that no table describes is taken for a unary one.
    let isUnary = kind.map { $0 == .unary || isEvents } ?? true
    // Events are text, and without a descriptor there is no binary form.
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
      : kind?.streamsRequests == true ? .messages(isGzip: isGzip) : .envelope(isGzip: isGzip, bytesMax: bodyBytesMax)
    var plan = HTTPPlan(method: Array(name.utf8), style: style, params: params, takesBody: true)
    plan.endsWithMessage = kind == .clientStreaming
    if shape.isBinary, let method { plan.binary = binary(method) }
    plan.metadata = try request.metadata()
    plan.timeoutMs = try ConnectRequest.timeoutMs(request["connect-timeout-ms"])
    plan.token = method?.token?.jsonName
    return .call(plan)
  }

  private func get(
    _ request: HTTPRequestText, _ name: Substring, _ method: HTTPMethod?
  ) throws(RPCError) -> HTTPDecision {
    let isEvents = method?.descriptor.kind == .serverStreaming && request.accepts(EventWriter.contentType)
    guard let method, method.isReadOnlyUnary || isEvents && method.descriptor.idempotency == .noSideEffects else {
      return HTTPRefusal.notAllowed(["POST"], style: .connectUnary)
    }
    guard !request.hasBody else { throw HTTPPlan.bodyUnexpected }
    let query = try QueryText(request.query)
    try ConnectRequest.checkVersion(request["connect-protocol-version"])
    let (message, isBinary) = try ConnectRequest.message(of: query, bytesMax: bodyBytesMax)
    guard !isBinary || !isEvents else {
      throw RPCError(.unimplemented, "events are text", reason: "CODEC_UNSUPPORTED", processed: false)
    }
    var params = HTTPPlan.Params.fixed(message)
    if isEvents, let token = method.token, let last = request["last-event-id"] {
      params = try Self.resumed(message, token, after: last)
    }
    var plan = HTTPPlan(
      method: method.path, style: isEvents ? .events : .connectUnary, params: params, takesBody: false)
    if isBinary { plan.binary = binary(method) }
    plan.metadata = try request.metadata(queryToken: isEvents ? query[HTTPPlanner.queryToken] : nil)
    plan.timeoutMs = try ConnectRequest.timeoutMs(request["connect-timeout-ms"])
    plan.token = method.token?.jsonName
    return .call(plan)
  }

  private func binary(_ method: HTTPMethod) -> HTTPPlan.BinaryForm {
    HTTPPlan.BinaryForm(
      index: table.index, request: method.descriptor.requestType, response: method.descriptor.responseType)
  }

  /// The message of a stream that the browser opens again: where it was takes the place of where it began.
  private static func resumed(
    _ message: [UInt8], _ token: FieldSchema, after last: String
  ) throws(RPCError) -> HTTPPlan.Params {
    var tree = ParamsTree()
    _ = tree.bind([token], FieldBinding.quoted(last))
    let plan = HTTPPlan(method: [], style: .events, params: .bound(tree, .whole), takesBody: false)
    let outcome = message.withUnsafeBytes { bytes -> Result<[UInt8], RPCError> in
      do throws(RPCError) { return .success(try plan.withParams(bytes) { [UInt8]($0) }) } catch {
        return .failure(error)
      }
    }
    return .fixed(try outcome.get())
  }
}
