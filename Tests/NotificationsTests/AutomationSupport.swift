import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import Testing

@testable import Notifications

func template(_ name: String, title: String = "Hello {{who}}", requestID: String = "") -> CreateTemplateRequest {
  let draft = Template(name: name, title: title)
  return CreateTemplateRequest(template: draft, requestId: requestID)
}

/// - Parameters:
///   - period: In minutes.
///   - grace: In minutes.
func heartbeat(_ name: String, in bucketID: String, period: Int64 = 5, grace: Int64 = 1) -> CreateHeartbeatRequest {
  let draft = Heartbeat(
    name: name, bucketId: bucketID, period: ProtoDuration(seconds: period * 60),
    grace: ProtoDuration(seconds: grace * 60))
  return CreateHeartbeatRequest(heartbeat: draft)
}

func webhook(_ name: String, headers: [String: String] = [:], requestID: String = "") -> CreateWebhookRequest {
  let draft = Webhook(name: name, url: "https://example.org/hook", headers: headers)
  return CreateWebhookRequest(webhook: draft, requestId: requestID)
}

func mask(_ paths: String...) -> ProtoFieldMask {
  var mask = ProtoFieldMask()
  mask.paths = paths
  return mask
}

extension AutomationService {
  func make(_ request: CreateTemplateRequest, _ context: CallContext) async throws -> Template {
    try #require(try await createTemplate(request, context: context).template)
  }
  func make(_ request: CreateHeartbeatRequest, _ context: CallContext) async throws -> Heartbeat {
    try #require(try await createHeartbeat(request, context: context).heartbeat)
  }
  func make(_ request: CreateWebhookRequest, _ context: CallContext) async throws -> Webhook {
    try #require(try await createWebhook(request, context: context).webhook)
  }
}

extension NotificationsComponent {
  /// The time at which a heartbeat is missed, read from the timers table.
  func timer(of id: String, user: String) throws -> Int64? {
    try store.readBlocking { transaction in
      try transaction.queryOne(
        "SELECT due_ms FROM timers WHERE user_id = $1 AND subject_id = $2 AND kind = 5", [.text(user), .text(id)]
      ) { try $0.integer(0) }
    }
  }

  /// A webhook as it is stored, with its secrets.
  func kept(_ id: String, user: String) throws -> Webhook? {
    try store.readBlocking { try $0.automation(.webhook, id, user: user, as: Webhook.self) }
  }
}

/// Returns `field REASON` for every violation.
func faults(_ error: RPCError?) -> [String] { error?.fieldViolations.map { "\($0.field) \($0.reason)" } ?? [] }
