import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import Gateway
import GatewayHTTP

/// The Zentik app's API for phones, watches and publishers over Notifications, under `/api/v1`.
struct ZentikDialect: HTTPDialect {
  /// Prefix of the app's keys. The rest is the secret of an API key.
  static let keyPrefix = "zat_"
  private static let resources = ZentikSharing.resources.union(["messages", "notifications", "buckets", "webhooks"])

  let nowMs: @Sendable () -> Int64

  enum Action: Sendable, Hashable {
    case publish, markRead([String]?), markUnread([String]?), delete([String]?), postpone
    case snooze(String), executeWebhook(String), share(ZentikSharing.Action), phone(ZentikPhone.Action)

    /// Whether the action reads the body. Lists of ids are in the body, because they do not fit in a path.
    var takesBody: Bool {
      switch self {
      case .publish, .postpone, .snooze, .executeWebhook: true
      case .markRead(let ids), .markUnread(let ids), .delete(let ids): ids == nil
      case .share(let action): action.takesBody
      case .phone(let action): action.takesBody
      }
    }

    /// Publishing needs no credential here, because a magic code in the body may be one.
    var access: DialectPlan.Access {
      switch self {
      case .publish: .open
      case .markRead: .method(NotificationsServiceMethods.markNotificationsRead)
      case .markUnread: .method(NotificationsServiceMethods.markNotificationsUnread)
      case .delete: .method(NotificationsServiceMethods.batchDeleteNotifications)
      case .postpone: .method(NotificationsServiceMethods.postponeNotification)
      case .snooze: .method(NotificationsServiceMethods.updateBucketSettings)
      case .executeWebhook: .method(AutomationServiceMethods.runWebhook)
      case .share(let action): .method(action.method)
      case .phone(let action): .method(action.method)
      }
    }
  }

  func plan(_ request: RequestHead, segments: [Substring]) throws(RPCError) -> DialectPlan? {
    guard segments.count >= 3, segments[0] == "api", segments[1] == "v1", Self.resources.contains(segments[2]) else {
      return nil
    }
    var path: [String] = []
    for segment in segments.dropFirst(2) { path.append(try RequestPath.decoded(segment)) }
    let authorization = request["authorization"].map(Self.authorization)
    let actions = Self.actions(path)
    guard let action = actions[request.method] else {
      return DialectPlan.unserved(allowed: actions.keys.sorted(), authorization, ZentikFailure.answer)
    }
    let session = ZentikSession(identity: .bearer(authorization), query: request.query, nowMs: nowMs)
    return DialectPlan(
      access: action.access, takesBody: action.takesBody, authorization: authorization, failure: ZentikFailure.answer
    ) { (body, calls) async throws(RPCError) in
      if authorization == nil, action == .publish { try ZentikSession.requireMagicCode(body) }
      // The app also sends an empty object with calls that need no body.
      try request.checkJSONBody(isTaken: true)
      return try await session.answer(action, body: body, calls: calls)
    }
  }

  /// Returns the actions at a path, by HTTP method. `batch` is not an id, so batches take precedence.
  static func actions(_ path: [String]) -> [String: Action] {
    var path = path
    // The watch makes the phone's calls under its own prefix.
    if path.count > 2, path[0] == "notifications", path[1] == "watch" { path.remove(at: 1) }
    let phone = ZentikPhone.actions(path).mapValues { Action.phone($0) }
    switch (path.first, path.count) {
    case ("messages", 1): return ["POST": .publish]
    case ("notifications", 1): return phone
    case ("notifications", 2) where path[1] == "batch": return ["DELETE": .delete(nil)]
    case ("notifications", 2) where path[1] == "postpone": return ["POST": .postpone]
    case ("notifications", _) where ZentikPhone.isFixed(path): return phone
    case ("notifications", 2): return phone.merging(["DELETE": .delete([path[1]])]) { $1 }
    case ("notifications", 3):
      let ids = path[1] == "batch" ? nil : [path[1]]
      switch path[2] {
      case "read": return ["PATCH": .markRead(ids)]
      case "unread": return ["PATCH": .markUnread(ids)]
      default: return phone
      }
    case ("buckets", 3) where path[2] == "snooze-minutes": return ["POST": .snooze(path[1])]
    case ("webhooks", 3) where path[2] == "execute": return ["POST": .executeWebhook(path[1])]
    default: return ZentikSharing.actions(path).mapValues { .share($0) }
    }
  }

  /// Returns the header's value with the suite's key prefix. Other values remain unchanged.
  static func authorization(_ value: String) -> String {
    let parts = value.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2, parts[1].hasPrefix(keyPrefix) else { return value }
    return "\(parts[0]) \(CallerSecret.Kind.key.prefix)\(parts[1].dropFirst(keyPrefix.count))"
  }
}

/// Errors in the format of the app's server.
enum ZentikFailure {
  /// Returns class-validator errors for invalid fields, and `{statusCode, message, error}` for all other errors.
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

  /// Returns the app's name of a field of the suite.
  private static func property(_ field: String) -> String {
    let bare = field.hasPrefix("notification.") ? String(field.dropFirst("notification.".count)) : field
    switch bare {
    case "collapse_key", "collapseKey": return "collapseId"
    case "deliver_time", "deliverTime": return "scheduledSendAt"
    case "bucket_id": return "bucketId"
    case "role": return "permissions"
    case "expireTime" where bare == field: return "expiresAt"
    default: return bare
    }
  }
}
