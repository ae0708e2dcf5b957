public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

extension NotificationsService {
  public func createNotification(
    _ request: CreateNotificationRequest, context: CallContext
  ) async throws -> CreateNotificationResponse {
    let user = try context.requireUser()
    let idempotency = try Self.idempotency(request, user: user)
    return CreateNotificationResponse(
      notification: try await create(request, user: user, idempotency: idempotency))
  }

  /// Creates the notification of a request, or returns that of the request's first attempt.
  func create(
    _ request: CreateNotificationRequest, user: String, idempotency: IdempotentRequest?
  ) async throws -> Notification {
    let draft: NotificationDraft
    do throws(RPCError) {
      draft = try await self.draft(request, "", user: user)
    } catch {
      if let reply = try await repository.reply(Notification.self, to: idempotency) { return reply }
      throw error
    }
    return try await repository.createNotification(draft, user: user, idempotency: idempotency)
  }

  public func batchCreateNotifications(
    _ request: BatchCreateNotificationsRequest, context: CallContext
  ) async throws -> BatchCreateNotificationsResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    var entries: [NewNotification] = []
    for (index, entry) in request.requests.enumerated() {
      entries.append(try await self.entry(entry, path: "requests[\(index)].", user: user))
    }
    let results = try await repository.createNotifications(entries, user: user)
    return BatchCreateNotificationsResponse(results: results.map(Self.result))
  }

  public func getNotification(
    _ request: GetNotificationRequest, context: CallContext
  ) async throws -> GetNotificationResponse {
    let user = try context.requireUser()
    return GetNotificationResponse(notification: try await repository.notification(request.notificationId, user: user))
  }

  public func listNotifications(
    _ request: ListNotificationsRequest, context: CallContext
  ) async throws -> ListNotificationsResponse {
    let user = try context.requireUser()
    let query = try NotificationQuery(request, user: user, limits: limits)
    let (rows, token) = try await repository.notifications(query)
    var response = ListNotificationsResponse(notifications: rows.items, resumeToken: token.text(user: user))
    if rows.hasMore, let last = rows.items.last { response.nextPageToken = query.nextPageToken(after: last) }
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
  ) async throws(RPCError) -> NewNotification {
    let idempotency = try Self.idempotency(request, user: user)
    do throws(RPCError) {
      let draft = try await self.draft(request, path, user: user)
      return NewNotification(path: path, draft: .success(draft), idempotency: idempotency)
    } catch {
      return NewNotification(path: path, draft: .failure(error), idempotency: idempotency)
    }
  }

  /// Returns the checked draft of a request, rendered from its template if it names one.
  func draft(
    _ request: CreateNotificationRequest, _ path: String, user: String
  ) async throws(RPCError) -> NotificationDraft {
    var violations = Violations()
    request.validate(path, into: &violations)
    var notification = request.notification ?? Notification()
    // A rendered template is validated again; without one, the notification has been validated with the request.
    let isRendered = !request.templateId.isEmpty && violations.isEmpty
    RequestChecks.clearOutput(&notification)
    if isRendered {
      try await render(request, into: &notification, path, user: user, &violations)
    } else if request.templateId.isEmpty, !request.variables.isEmpty {
      violations.add("\(path)variables", "needs a templateId", .required)
    }
    if request.notification != nil, isRendered || request.templateId.isEmpty {
      NotificationRules.check(notification, "\(path)notification", nowMs: repository.clockMs(), &violations)
    }
    try violations.check()
    return try NotificationDraft(notification, heartbeatID: request.heartbeatId)
  }

  /// Renders the request's template into the notification, and validates the result.
  private func render(
    _ request: CreateNotificationRequest, into notification: inout Notification, _ path: String, user: String,
    _ violations: inout Violations
  ) async throws(RPCError) {
    let template = try await repository.template(request.templateId, user: user, field: "\(path)templateId")
    let count = violations.count
    TemplateRules.render(
      template: template, variables: request.variables, into: &notification, prefix: path, &violations)
    if violations.count == count { notification.validate("\(path)notification.", into: &violations) }
  }

  private static func result(_ result: Result<Notification, RPCError>) -> BatchCreateResult {
    switch result {
    case .success(let notification): BatchCreateResult(outcome: .notification(notification))
    case .failure(let failure): BatchCreateResult(outcome: .error(failure.batchError))
    }
  }
}
