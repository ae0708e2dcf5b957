import CampanileAPI
import CampanileRPC
import CampanileService

/// Stores templates, heartbeats and webhooks.
///
/// Every function serves one user. An object of another user throws NOT_FOUND, exactly like one that does not exist.
/// Callers check the arguments first (see Domain/). All errors are `RPCError`s.
protocol AutomationRepository: Sendable {
  /// Throws RESOURCE_EXHAUSTED, reason `AUTOMATION_EXHAUSTED`, and FAILED_PRECONDITION, reason `REQUEST_ID_REUSED`.
  func createTemplate(_ draft: Template, user: String, idempotency: IdempotentRequest?) async throws -> Template
  func template(_ id: String, user: String) async throws -> Template
  func templates(_ query: AutomationQuery) async throws -> PageRows<Template>
  /// Throws ABORTED, reason `ETAG_MISMATCH`, if `change.etag` is set and is not the current one.
  func updateTemplate(_ change: Template, fields: [TemplateField], user: String) async throws -> Template
  /// Throws ABORTED, reason `ETAG_MISMATCH`, if `etag` is not empty and is not the current one, like the other
  /// deletions.
  func deleteTemplate(_ id: String, etag: String, user: String) async throws

  /// Creates a heartbeat and starts waiting for its beats. Throws NOT_FOUND for the bucket, PERMISSION_DENIED, reason
  /// `ROLE_MISSING`, and the errors of `createTemplate`.
  func createHeartbeat(_ draft: Heartbeat, user: String, idempotency: IdempotentRequest?) async throws -> Heartbeat
  func heartbeats(_ query: AutomationQuery) async throws -> PageRows<Heartbeat>
  func beat(_ id: String, user: String, idempotency: IdempotentRequest?) async throws -> Heartbeat
  func deleteHeartbeat(_ id: String, etag: String, user: String) async throws

  /// Creates a webhook. The returned webhook has `***` in place of its header values.
  func createWebhook(_ draft: Webhook, user: String, idempotency: IdempotentRequest?) async throws -> Webhook
  func webhooks(_ query: AutomationQuery) async throws -> PageRows<Webhook>
  /// Updates a webhook. A header with the value `***` retains its stored value; throws INVALID_ARGUMENT if there is
  /// none. Throws ABORTED, reason `ETAG_MISMATCH`, if `change.etag` is set and is not the current one.
  func updateWebhook(_ change: Webhook, fields: [WebhookField], user: String) async throws -> Webhook
  func deleteWebhook(_ id: String, etag: String, user: String) async throws
}
