public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

extension AutomationService {
  public func createWebhook(
    _ request: CreateWebhookRequest, context: CallContext
  ) async throws -> CreateWebhookResponse {
    let user = try context.requireUser()
    var violations = Violations()
    RequestChecks.requestID(request.requestId, "requestId", &violations)
    let draft = request.webhook ?? Webhook()
    if request.webhook == nil {
      violations.add("webhook", "must be given", .required)
    } else {
      WebhookRules.check(draft, "webhook", &violations)
      // A new webhook has no stored headers that the mask could refer to.
      var headers = draft.headers
      WebhookRules.unmask(&headers, stored: [:], &violations)
    }
    try violations.check()
    var requestWithoutID = request
    requestWithoutID.requestId = ""
    let idempotency = try IdempotentRequest(
      request.requestId, requestWithoutID, method: AutomationServiceMethods.createWebhook, user: user)
    return CreateWebhookResponse(
      webhook: try await repository.createWebhook(draft, user: user, idempotency: idempotency))
  }

  public func listWebhooks(_ request: ListWebhooksRequest, context: CallContext) async throws -> ListWebhooksResponse {
    let query = try AutomationQuery(
      .webhook, pageSize: request.pageSize, pageToken: request.pageToken, user: try context.requireUser(),
      limits: limits)
    let (webhooks, nextPageToken) = query.position.page(try repository.webhooks(query)) { [$0.id] }
    return ListWebhooksResponse(webhooks: webhooks, nextPageToken: nextPageToken)
  }

  public func updateWebhook(
    _ request: UpdateWebhookRequest, context: CallContext
  ) async throws -> UpdateWebhookResponse {
    let user = try context.requireUser()
    var violations = Violations()
    let change = request.webhook ?? Webhook()
    if request.webhook == nil { violations.add("webhook", "must be given", .required) }
    let fields = UpdateMask.fields(request.updateMask, for: change, as: WebhookField.self, &violations)
    for field in fields { WebhookRules.check(field, of: change, "webhook", &violations) }
    try violations.check()
    return UpdateWebhookResponse(webhook: try await repository.updateWebhook(change, fields: fields, user: user))
  }

  public func deleteWebhook(
    _ request: DeleteWebhookRequest, context: CallContext
  ) async throws -> DeleteWebhookResponse {
    try await repository.deleteWebhook(request.webhookId, user: try context.requireUser())
    return DeleteWebhookResponse()
  }
}
