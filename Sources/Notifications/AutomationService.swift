public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService
import CampanileStore

/// Serves `campanile.notifications.v1.AutomationService`: templates, heartbeats and webhooks. Everything belongs to the
/// calling user.
public struct AutomationService: AutomationServiceProtocol {
  let repository: any AutomationRepository
  let limits: NotificationsLimits
  let actions: ActionRunner
}

extension AutomationService {
  public func createTemplate(
    _ request: CreateTemplateRequest, context: CallContext
  ) async throws -> CreateTemplateResponse {
    let user = try context.requireUser()
    var violations = Violations()
    request.validate(into: &violations)
    let draft = request.template ?? Template()
    TemplateRules.check(draft, "template", &violations)
    try violations.check()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AutomationServiceMethods.createTemplate, user: user)
    return CreateTemplateResponse(
      template: try await repository.createTemplate(draft, user: user, idempotency: idempotency))
  }

  public func listTemplates(
    _ request: ListTemplatesRequest, context: CallContext
  ) async throws -> ListTemplatesResponse {
    let query = try AutomationQuery(
      .template, pageSize: request.pageSize, pageToken: request.pageToken, user: try context.requireUser(),
      limits: limits)
    let (templates, nextPageToken) = query.position.page(try await repository.templates(query)) { [$0.id] }
    return ListTemplatesResponse(templates: templates, nextPageToken: nextPageToken)
  }

  public func getTemplate(_ request: GetTemplateRequest, context: CallContext) async throws -> GetTemplateResponse {
    let user = try context.requireUser()
    return GetTemplateResponse(template: try await repository.template(request.templateId, user: user))
  }

  public func updateTemplate(
    _ request: UpdateTemplateRequest, context: CallContext
  ) async throws -> UpdateTemplateResponse {
    let user = try context.requireUser()
    let (change, fields) = try UpdateMask.change(
      request.template, "template", request.updateMask, TemplateRules.check(_:of:_:_:))
    return UpdateTemplateResponse(template: try await repository.updateTemplate(change, fields: fields, user: user))
  }

  public func deleteTemplate(
    _ request: DeleteTemplateRequest, context: CallContext
  ) async throws -> DeleteTemplateResponse {
    try await repository.deleteTemplate(request.templateId, etag: request.etag, user: try context.requireUser())
    return DeleteTemplateResponse()
  }
}
