import CampanileBase
import CampanileRPC

/// Plans requests that match a `google.api.http` rule.
struct RESTPlanner {
  let binding: RESTBinding
  static let linesType = "application/x-ndjson"

  private var method: HTTPMethod { binding.method }

  func plan(
    _ request: RequestHead, captures: [[String]: String], _ target: inout HTTPJudgedTarget
  ) throws(RPCError) -> HTTPPlan {
    let query = try QueryText(request.query)
    var style = HTTPPlan.Style.rest
    if method.descriptor.kind == .serverStreaming { style = request.accepts(Self.linesType) ? .lines : .events }
    if style == .events { try target.readToken(query) }
    try request.checkSingles()
    try request.checkJSONBody(isTaken: binding.body != .none)
    var tree = ParamsTree()
    for (path, text) in captures { try method.binding.bind(path, text, into: &tree) }
    try bind(query, style, into: &tree)
    var plan = HTTPPlan(
      method: method.path, style: style, params: .bound(tree, binding.body), takesBody: binding.body != .none)
    try bindHeaders(request, &tree, &plan)
    plan.params = .bound(tree, binding.body)
    plan.metadata = try request.metadata(queryToken: target.queryToken)
    plan.timeoutMs = try ConnectRequest.timeoutMs(request["connect-timeout-ms"])
    plan.token = method.token?.jsonName
    plan.etag = method.responseEtag
    if request.method == "GET" { plan.ifNoneMatch = request["if-none-match"] }
    return plan
  }

  private func bind(_ query: QueryText, _ style: HTTPPlan.Style, into tree: inout ParamsTree) throws(RPCError) {
    for parameter in query.parameters {
      if style == .events, parameter.name == HTTPPlanner.queryToken { continue }
      guard binding.body != .whole else {
        throw RPCError.invalidField(
          String(parameter.name.prefix(128)), "the body is the whole message, so the query must be empty",
          reason: "QUERY_INVALID")
      }
      try method.binding.bind(
        parameter.name.split(separator: ".", omittingEmptySubsequences: false).map(String.init), parameter.value,
        into: &tree)
    }
  }

  private func bindHeaders(
    _ request: RequestHead, _ tree: inout ParamsTree, _ plan: inout HTTPPlan
  ) throws(RPCError) {
    if let value = request["if-match"] {
      guard let etag = method.etag else {
        throw RPCError.invalidField("if-match", "the method has no etag to compare", reason: "CONDITION_UNSUPPORTED")
      }
      plan.hasCondition = true
      switch EntityTag.condition(value) {
      case .any: break
      case .one(let tag): try method.binding.bind(etag, tag, into: &tree)
      case .unusable:
        throw RPCError.invalidField("if-match", "it must be one strong entity tag", reason: "CONDITION_UNSUPPORTED")
      }
    }
    if let key = request["idempotency-key"], let field = method.requestID {
      let bare = key.trimmingSpaces
      let inner =
        bare.hasPrefix("\"") && bare.hasSuffix("\"") && bare.utf8.count > 2 ? bare.dropFirst().dropLast() : bare[...]
      try method.binding.bind([field.name], String(inner), into: &tree)
    }
    if let token = method.token, let last = request["last-event-id"], !last.isEmpty {
      tree.replace(token, FieldBinding.quoted(last))
    }
  }
}

extension ParamsTree {
  /// Sets a top-level field, replacing its previous value.
  mutating func replace(_ field: FieldSchema, _ json: String) {
    remove(field.jsonName)
    _ = bind([field], json)
  }
}

extension HTTPPlan {
  static let bodyUnexpected = RPCError(
    .invalidArgument, "the request takes no body", reason: "BODY_UNEXPECTED", processed: false)
}
