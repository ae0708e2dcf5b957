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
    request.validate(into: &violations)
    if let webhook = request.webhook {
      WebhookRules.check(webhook, "webhook", &violations)
      // A new webhook has no stored headers that the mask could refer to.
      var headers = webhook.headers
      WebhookRules.unmask(&headers, stored: [:], &violations)
    }
    try violations.check()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AutomationServiceMethods.createWebhook, user: user)
    return CreateWebhookResponse(
      webhook: try await repository.createWebhook(request.webhook ?? Webhook(), user: user, idempotency: idempotency))
  }

  public func listWebhooks(_ request: ListWebhooksRequest, context: CallContext) async throws -> ListWebhooksResponse {
    let query = try AutomationQuery(
      .webhook, pageSize: request.pageSize, pageToken: request.pageToken, user: try context.requireUser(),
      limits: limits)
    let (webhooks, nextPageToken) = query.position.page(try await repository.webhooks(query)) { [$0.id] }
    return ListWebhooksResponse(webhooks: webhooks.map(WebhookRules.masked), nextPageToken: nextPageToken)
  }

  public func updateWebhook(
    _ request: UpdateWebhookRequest, context: CallContext
  ) async throws -> UpdateWebhookResponse {
    let user = try context.requireUser()
    let (change, fields) = try UpdateMask.change(
      request.webhook, "webhook", request.updateMask, WebhookRules.check(_:of:_:_:))
    return UpdateWebhookResponse(webhook: try await repository.updateWebhook(change, fields: fields, user: user))
  }

  public func runWebhook(_ request: RunWebhookRequest, context: CallContext) async throws -> RunWebhookResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AutomationServiceMethods.runWebhook, user: user)
    return RunWebhookResponse(
      run: try await actions.run(
        webhook: request.webhookId, notificationID: request.notificationId, user: user, idempotency: idempotency))
  }

  public func deleteWebhook(
    _ request: DeleteWebhookRequest, context: CallContext
  ) async throws -> DeleteWebhookResponse {
    try await repository.deleteWebhook(request.webhookId, etag: request.etag, user: try context.requireUser())
    return DeleteWebhookResponse()
  }
}
