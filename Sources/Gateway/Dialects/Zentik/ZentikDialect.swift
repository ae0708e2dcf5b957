import CampanileRPC

/// The calls of the Zentik app's phone, watch and publishers over Notifications, under `/api/v1`.
struct ZentikDialect: HTTPDialect {
  /// What the app's keys begin with. The rest is the secret of an API key.
  static let keyPrefix = "zat_"
  private static let resources: Set<Substring> = ["messages", "notifications", "buckets", "webhooks"]

  let nowMs: @Sendable () -> Int64

  enum Action: Sendable, Hashable {
    case publish, markRead([String]?), markUnread([String]?), delete([String]?), postpone
    case snooze(String), executeWebhook(String)

    /// Whether the body says something: lists of ids stand there, since they have no place in a path.
    var takesBody: Bool {
      switch self {
      case .publish, .postpone, .snooze, .executeWebhook: true
      case .markRead(let ids), .markUnread(let ids), .delete(let ids): ids == nil
      }
    }
  }

  func plan(_ request: HTTPRequestText, segments: [Substring]) throws(RPCError) -> DialectPlan? {
    guard segments.count >= 3, segments[0] == "api", segments[1] == "v1", Self.resources.contains(segments[2]) else {
      return nil
    }
    var path: [String] = []
    for segment in segments.dropFirst(2) { path.append(try PathText.decoded(segment)) }
    let authorization = request["authorization"].map(Self.authorization)
    let actions = Self.actions(path)
    guard let action = actions[request.method] else {
      return DialectPlan.unserved(allowed: actions.keys.sorted(), authorization, ZentikFailure.answer)
    }
    let session = ZentikSession(identity: .bearer(authorization), nowMs: nowMs)
    return DialectPlan(takesBody: action.takesBody, authorization: authorization, failure: ZentikFailure.answer) {
      (body, calls) async throws(RPCError) in
      // The app sends an empty object with calls that need none, too.
      try request.checkDialectBody(isTaken: true)
      return try await session.answer(action, body: body, calls: calls)
    }
  }

  /// What can be done at a path, by HTTP method. Batches come before ids, which `batch` is none of.
  static func actions(_ path: [String]) -> [String: Action] {
    var path = path
    // The watch has the phone's calls under a prefix of its own.
    if path.count > 2, path[0] == "notifications", path[1] == "watch" { path.remove(at: 1) }
    switch (path.first, path.count) {
    case ("messages", 1): return ["POST": .publish]
    case ("notifications", 2) where path[1] == "batch": return ["DELETE": .delete(nil)]
    case ("notifications", 2) where path[1] == "postpone": return ["POST": .postpone]
    case ("notifications", 2): return ["DELETE": .delete([path[1]])]
    case ("notifications", 3):
      let ids = path[1] == "batch" ? nil : [path[1]]
      switch path[2] {
      case "read": return ["PATCH": .markRead(ids)]
      case "unread": return ["PATCH": .markUnread(ids)]
      default: return [:]
      }
    case ("buckets", 3) where path[2] == "snooze-minutes": return ["POST": .snooze(path[1])]
    case ("webhooks", 3) where path[2] == "execute": return ["POST": .executeWebhook(path[1])]
    default: return [:]
    }
  }

  /// The header's value with the suite's name for the key. Whatever else it is, it is judged as it stands.
  static func authorization(_ value: String) -> String {
    let parts = value.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2, parts[1].hasPrefix(keyPrefix) else { return value }
    return "\(parts[0]) \(ApiKeySecret.prefix)\(parts[1].dropFirst(keyPrefix.count))"
  }
}

/// Failures as the app's server tells them.
enum ZentikFailure {
  /// A class validator's list for fields at fault, `{statusCode, message, error}` for all else.
  static func answer(_ error: RPCError) -> DialectAnswer {
    let status = HTTPStatusCode.ofREST(error, hasCondition: false)
    if status == 400, !error.fieldViolations.isEmpty {
      let errors = error.fieldViolations.map { violation in
        JSONTree.object([
          "property": .string(property(violation.field)), "value": .null,
          "constraints": .object([
            violation.reason.isEmpty ? "invalid" : violation.reason: .string(violation.description)
          ]),
        ])
      }
      return DialectAnswer(400, .object(["message": .string("Validation failed"), "errors": .array(errors)]))
    }
    return DialectAnswer(
      status,
      .object([
        "statusCode": .integer(Int64(status)), "message": .string(error.message), "error": .string(error.reason),
      ]))
  }

  /// A field of the suite's under the name that the app sent it by.
  private static func property(_ field: String) -> String {
    let bare = field.hasPrefix("notification.") ? String(field.dropFirst("notification.".count)) : field
    switch bare {
    case "collapse_key", "collapseKey": return "collapseId"
    case "deliver_time", "deliverTime": return "scheduledSendAt"
    case "bucket_id": return "bucketId"
    default: return bare
    }
  }
}
