import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import Testing

@testable import Notifications

func template(_ name: String, title: String = "Hello {{who}}", requestID: String = "") -> CreateTemplateRequest {
  var request = CreateTemplateRequest()
  var draft = Template()
  draft.name = name
  draft.title = title
  request.template = draft
  request.requestId = requestID
  return request
}

func heartbeat(_ name: String, in bucketID: String, period: Int32 = 5, grace: Int32 = 1) -> CreateHeartbeatRequest {
  var request = CreateHeartbeatRequest()
  var draft = Heartbeat()
  draft.name = name
  draft.bucketId = bucketID
  draft.periodMinutes = period
  draft.graceMinutes = grace
  request.heartbeat = draft
  return request
}

func webhook(_ name: String, headers: [String: String] = [:], requestID: String = "") -> CreateWebhookRequest {
  var request = CreateWebhookRequest()
  var draft = Webhook()
  draft.name = name
  draft.url = "https://example.org/hook"
  draft.headers = headers
  request.webhook = draft
  request.requestId = requestID
  return request
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
    try store.read { transaction in
      try transaction.queryOne(
        "SELECT due_ms FROM timers WHERE user_id = $1 AND subject_id = $2 AND kind = 5", [.text(user), .text(id)]
      ) { try $0.integer(0) }
    }
  }

  /// A webhook as it is stored, with its secrets.
  func kept(_ id: String, user: String) throws -> Webhook? {
    try store.read { try $0.automation(.webhook, id, user: user, as: Webhook.self) }
  }
}

/// Returns `field REASON` for every violation.
func faults(_ error: RPCError?) -> [String] { error?.fieldViolations.map { "\($0.field) \($0.reason)" } ?? [] }
