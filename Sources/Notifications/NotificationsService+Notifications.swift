public import CampanileAPI
import CampanileBase
public import CampanileRPC
import CampanileService

extension NotificationsService {
  public func createNotification(
    _ request: CreateNotificationRequest, context: CallContext
  ) async throws -> CreateNotificationResponse {
    let user = try context.requireUser()
    let draft = try self.draft(request, "", user: user)
    let idempotency = try Self.idempotency(request, user: user)
    return CreateNotificationResponse(
      notification: try await repository.createNotification(draft, user: user, idempotency: idempotency))
  }

  public func batchCreateNotifications(
    _ request: BatchCreateNotificationsRequest, context: CallContext
  ) async throws -> BatchCreateNotificationsResponse {
    let user = try context.requireUser()
    try Violations.check { RequestChecks.count(request.requests.count, "requests", limits, &$0) }
    let entries = try request.requests.enumerated().map { index, entry in
      try self.entry(entry, path: "requests[\(index)].", user: user)
    }
    let results = try await repository.createNotifications(entries, user: user)
    return BatchCreateNotificationsResponse(results: results.map(Self.result))
  }

  public func getNotification(
    _ request: GetNotificationRequest, context: CallContext
  ) async throws -> GetNotificationResponse {
    let user = try context.requireUser()
    return GetNotificationResponse(notification: try repository.notification(request.notificationId, user: user))
  }

  public func listNotifications(
    _ request: ListNotificationsRequest, context: CallContext
  ) async throws -> ListNotificationsResponse {
    let query = try NotificationQuery(request, user: try context.requireUser(), limits: limits)
    var response = ListNotificationsResponse(notifications: try repository.notifications(query))
    if response.notifications.count > query.pageSize {
      response.notifications.removeLast(response.notifications.count - query.pageSize)
      if let last = response.notifications.last { response.nextPageToken = query.nextPageToken(after: last) }
    }
    return response
  }

  public func updateNotification(
    _ request: UpdateNotificationRequest, context: CallContext
  ) async throws -> UpdateNotificationResponse {
    let user = try context.requireUser()
    let nowMs = repository.clockMs()
    let (change, fields) = try UpdateMask.change(request.notification, "notification", request.updateMask) {
      (field: NotificationField, change: Notification, path: String, violations: inout Violations) in
      NotificationRules.check(field, of: change, path, nowMs: nowMs, &violations)
    }
    let draft = try NotificationDraft(change)
    return UpdateNotificationResponse(
      notification: try await repository.updateNotification(
        draft.notification, contents: draft.contents, fields: fields, user: user))
  }

  private static func idempotency(
    _ request: CreateNotificationRequest, user: String
  ) throws(RPCError) -> IdempotentRequest? {
    // An entry of a batch and a single call with the same id are the same request.
    try IdempotentRequest(
      request, id: \.requestId, method: NotificationsServiceMethods.createNotification, user: user)
  }

  private func entry(
    _ request: CreateNotificationRequest, path: String, user: String
  ) throws(RPCError) -> NewNotification {
    let draft: NotificationDraft
    do throws(RPCError) {
      draft = try self.draft(request, path, user: user)
    } catch {
      return NewNotification(path: path, draft: .failure(error))
    }
    return NewNotification(
      path: path, draft: .success(draft), idempotency: try Self.idempotency(request, user: user))
  }

  /// Returns the checked draft of a request, rendered from its template if it names one.
  func draft(
    _ request: CreateNotificationRequest, _ path: String, user: String
  ) throws(RPCError) -> NotificationDraft {
    var violations = Violations()
    RequestChecks.requestID(request.requestId, "\(path)requestId", &violations)
    guard var notification = request.notification else {
      throw .invalidField("\(path)notification", "must be given", .required)
    }
    RequestChecks.clearOutput(&notification)
    if !request.templateId.isEmpty {
      let template = try repository.template(request.templateId, user: user, field: "\(path)templateId")
      TemplateRules.render(
        template: template, variables: request.variables, into: &notification, prefix: path, &violations)
    } else if !request.variables.isEmpty {
      violations.add("\(path)variables", "needs a templateId", .required)
    }
    NotificationRules.check(notification, "\(path)notification", nowMs: repository.clockMs(), &violations)
    try violations.check()
    return try NotificationDraft(notification, heartbeatID: request.heartbeatId)
  }

  private static func result(_ result: Result<Notification, RPCError>) -> BatchCreateResult {
    switch result {
    case .success(let notification): BatchCreateResult(outcome: .notification(notification))
    case .failure(let failure):
      BatchCreateResult(outcome: .error(failure.batchEntry(BatchError.init(code:message:reason:field:))))
    }
  }
}
