import CampanileAPI
import CampanileRPC
import CampanileService

/// Keeps templates, heartbeats and webhooks.
///
/// Every function serves one user and sees nothing of the others: what belongs to another user throws NOT_FOUND, like what
/// does not exist. Arguments are checked before (see Domain/). Failures are `RPCError`s.
protocol AutomationRepository: Sendable {
  /// Throws RESOURCE_EXHAUSTED, reason `AUTOMATION_EXHAUSTED`, and FAILED_PRECONDITION, reason `REQUEST_ID_REUSED`.
  func createTemplate(_ draft: Template, user: String, repeatable: RepeatableRequest?) async throws -> Template
  func template(_ id: String, user: String) throws -> Template
  /// At most one more than the page's size, so that the caller knows whether there is another page.
  func templates(_ query: AutomationQuery) throws -> [Template]
  /// Throws ABORTED, reason `ETAG_MISMATCH`, when `change.etag` is set and not the current one.
  func updateTemplate(_ change: Template, fields: [TemplateField], user: String) async throws -> Template
  func deleteTemplate(_ id: String, user: String) async throws

  /// Starts to wait for beats. Throws NOT_FOUND for the bucket, PERMISSION_DENIED, reason `BUCKET_ROLE_TOO_LOW`, and as
  /// `createTemplate`.
  func createHeartbeat(_ draft: Heartbeat, user: String, repeatable: RepeatableRequest?) async throws -> Heartbeat
  func heartbeats(_ query: AutomationQuery) throws -> [Heartbeat]
  func beat(_ id: String, user: String) async throws -> Heartbeat
  func deleteHeartbeat(_ id: String, user: String) async throws

  /// Webhooks are answered with `***` for the values of their headers.
  func createWebhook(_ draft: Webhook, user: String, repeatable: RepeatableRequest?) async throws -> Webhook
  func webhooks(_ query: AutomationQuery) throws -> [Webhook]
  /// A header with the value `***` keeps the stored one; without a stored one INVALID_ARGUMENT.
  func updateWebhook(_ change: Webhook, fields: [WebhookField], user: String) async throws -> Webhook
  func deleteWebhook(_ id: String, user: String) async throws
}
