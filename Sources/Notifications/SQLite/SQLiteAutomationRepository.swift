import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The repository on the embedded store.
struct SQLiteAutomationRepository: AutomationRepository, StoreBacked {
  let store: Store
  let ids: SortableIDGenerator
  let notifier: CommitNotifier
  let clockMs: @Sendable () -> Int64

  init(
    store: Store, notifier: CommitNotifier, clockMs: @escaping @Sendable () -> Int64,
    random: @escaping @Sendable () -> UInt64
  ) {
    self.store = store
    self.notifier = notifier
    self.clockMs = clockMs
    ids = SortableIDGenerator(clockMs: clockMs, random: random)
  }

  /// Performs a write once per request id. A repetition returns the result of the first write.
  func create<M: ProtoMessage>(
    _ idempotency: IdempotentRequest?, _ change: @escaping @Sendable (WriteTransaction) throws -> M
  ) async throws -> M {
    try await storeWrite { transaction in
      if let reply = try storedReply(M.self, idempotency, transaction) { return reply }
      let reply = try change(transaction)
      try storeReply(reply, idempotency, transaction)
      return reply
    }
  }

  func createTemplate(_ draft: Template, user: String, idempotency: IdempotentRequest?) async throws -> Template {
    try await create(idempotency) { transaction in
      let (id, nowMs) = ids.next(prefix: AutomationKind.template.prefix)
      var template = Template()
      for field in TemplateField.allCases { field.copy(from: draft, to: &template) }
      template.id = id
      template.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      template.updateTime = template.createTime
      template.etag = Etag.text(version: 1)
      template.requiredVariables = TemplateRules.requiredVariables(of: template)
      try transaction.addAutomation(.template, id, template, user: user)
      return template
    }
  }

  func template(_ id: String, user: String) async throws -> Template {
    let template = try await readSingle { try $0.automation(.template, id, user: user, as: Template.self) }
    guard let template else { throw AutomationKind.template.notFound(id, field: "templateId") }
    return template
  }

  func templates(_ query: AutomationQuery) async throws -> PageRows<Template> {
    try await readSingle { try $0.automation(query, as: Template.self) }
  }

  func updateTemplate(_ change: Template, fields: [TemplateField], user: String) async throws -> Template {
    try await storeWrite { transaction in
      guard let found = try transaction.automation(.template, change.id, user: user, as: Template.self) else {
        throw AutomationKind.template.notFound(change.id, field: "template.id")
      }
      guard change.etag.isEmpty || change.etag == found.etag else {
        throw RPCError.etagMismatch(field: "template.etag", current: found.etag)
      }
      var template = found
      for field in fields { field.copy(from: change, to: &template) }
      guard template != found else { return found }
      var violations = Violations()
      // Title and body may come from two updates, each of which is within the limit of variables.
      TemplateRules.checkVariableCount(template, "template", &violations)
      try violations.check()
      template.requiredVariables = TemplateRules.requiredVariables(of: template)
      template.updateTime = ProtoTimestamp(millisecondsSince1970: clockMs())
      template.etag = Etag.text(version: (Etag.version(found.etag) ?? 0) &+ 1)
      try transaction.updateAutomation(.template, template.id, template, user: user)
      return template
    }
  }

  func deleteTemplate(_ id: String, etag: String, user: String) async throws {
    try await storeWrite { transaction in
      try transaction.deleteAutomation(.template, id, user: user, field: "templateId", expected: etag) {
        (template: Template) in template.etag
      }
    }
  }

  func createWebhook(_ draft: Webhook, user: String, idempotency: IdempotentRequest?) async throws -> Webhook {
    try await create(idempotency) { transaction in
      let (id, nowMs) = ids.next(prefix: AutomationKind.webhook.prefix)
      var webhook = Webhook()
      for field in WebhookField.allCases { field.copy(from: draft, to: &webhook) }
      webhook.id = id
      if webhook.method == .unspecified { webhook.method = .post }
      webhook.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      webhook.updateTime = webhook.createTime
      webhook.etag = Etag.text(version: 1)
      try transaction.addAutomation(.webhook, id, webhook, user: user)
      return WebhookRules.masked(webhook)
    }
  }

  func webhooks(_ query: AutomationQuery) async throws -> PageRows<Webhook> {
    try await readSingle { try $0.automation(query, as: Webhook.self) }
  }

  func updateWebhook(_ change: Webhook, fields: [WebhookField], user: String) async throws -> Webhook {
    try await storeWrite { transaction in
      guard let found = try transaction.automation(.webhook, change.id, user: user, as: Webhook.self) else {
        throw AutomationKind.webhook.notFound(change.id, field: "webhook.id")
      }
      guard change.etag.isEmpty || change.etag == found.etag else {
        throw RPCError.etagMismatch(field: "webhook.etag", current: found.etag)
      }
      var webhook = found
      for field in fields { field.copy(from: change, to: &webhook) }
      if webhook.method == .unspecified { webhook.method = .post }
      var violations = Violations()
      if fields.contains(.headers) { WebhookRules.unmask(&webhook.headers, stored: found.headers, &violations) }
      try violations.check()
      guard webhook != found else { return WebhookRules.masked(found) }
      webhook.updateTime = ProtoTimestamp(millisecondsSince1970: clockMs())
      webhook.etag = Etag.text(version: (Etag.version(found.etag) ?? 0) &+ 1)
      try transaction.updateAutomation(.webhook, webhook.id, webhook, user: user)
      return WebhookRules.masked(webhook)
    }
  }

  func deleteWebhook(_ id: String, etag: String, user: String) async throws {
    try await storeWrite { transaction in
      try transaction.deleteAutomation(.webhook, id, user: user, field: "webhookId", expected: etag) {
        (webhook: Webhook) in webhook.etag
      }
    }
  }
}
