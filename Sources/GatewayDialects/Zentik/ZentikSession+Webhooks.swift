import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

// Webhooks.
extension ZentikSession {
  /// Runs a webhook by its id. The app names neither a notification nor an action.
  func executeWebhook(_ id: String, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let request = RunWebhookRequest(webhookId: id)
    let response: RunWebhookResponse = try await call(AutomationServiceMethods.runWebhook, request, calls)
    let run = response.run ?? ActionRun()
    guard run.state != .failed else {
      throw RPCError(
        .unavailable, run.message.isEmpty ? "the webhook failed" : run.message,
        reason: run.reason.isEmpty ? "WEBHOOK_FAILED" : run.reason)
    }
    return DialectAnswer(
      200,
      .object([
        "success": .bool(true), "status": .integer(Int64(run.httpStatus)), "retrying": .bool(run.state == .retrying),
      ]))
  }
}
