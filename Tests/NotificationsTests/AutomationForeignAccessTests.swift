import CampanileAPI
import CampanileBase
import CampanileRPC
import ServiceTesting
import Testing

@testable import Notifications

/// Calls every method as a stranger with another user's ids. The errors equal those for ids that do not exist.
@Suite struct AutomationForeignAccessTests {
  private typealias Methods = AutomationServiceMethods
  private typealias Call = @Sendable (AutomationService, _ id: String, CallContext) async throws -> Void

  private static let calls: [(method: MethodDescriptor, kind: AutomationKind, call: Call)] = [
    (Methods.getTemplate, .template, { _ = try await $0.getTemplate(.init(templateId: $1), context: $2) }),
    (
      Methods.updateTemplate, .template,
      { _ = try await $0.updateTemplate(.init(template: Template(id: $1, name: "mine now")), context: $2) }
    ),
    (Methods.deleteTemplate, .template, { _ = try await $0.deleteTemplate(.init(templateId: $1), context: $2) }),
    (Methods.beat, .heartbeat, { _ = try await $0.beat(.init(heartbeatId: $1), context: $2) }),
    (Methods.deleteHeartbeat, .heartbeat, { _ = try await $0.deleteHeartbeat(.init(heartbeatId: $1), context: $2) }),
    (
      Methods.updateWebhook, .webhook,
      { _ = try await $0.updateWebhook(.init(webhook: Webhook(id: $1, headers: ["X": "***"])), context: $2) }
    ),
    (Methods.runWebhook, .webhook, { _ = try await $0.runWebhook(.init(webhookId: $1), context: $2) }),
    (Methods.deleteWebhook, .webhook, { _ = try await $0.deleteWebhook(.init(webhookId: $1), context: $2) }),
  ]

  @Test func foreignAndMissingLookTheSame() async throws {
    let component = try await Fixture().open()
    let service = component.automation
    let box = try await component.service.makeBucket("b", anna)
    let own: [AutomationKind: String] = [
      .template: try await service.make(template("t"), anna).id,
      .heartbeat: try await service.make(heartbeat("h", in: box.id), anna).id,
      .webhook: try await service.make(webhook("w", headers: ["X": "1"]), anna).id,
    ]
    for (method, kind, call) in Self.calls {
      let id = try #require(own[kind])
      try await expectLooksMissing(id, "\(method.name)") { try await call(service, $0, bruno) }
      #expect(await failure { try await call(service, id, bruno) }?.errorMetadata["id"] == id, "\(method.name)")
    }
    #expect(try await service.listTemplates(.init(), context: anna).templates.count == 1)
    #expect(try await service.listHeartbeats(.init(), context: anna).heartbeats.count == 1)
    #expect(try await service.listWebhooks(.init(), context: anna).webhooks.count == 1)
    #expect(try await service.listWebhooks(.init(), context: bruno).webhooks.isEmpty)
    await component.close()
  }

  @Test func everyMethodNeedsAUser() async throws {
    let component = try await Fixture().open()
    let service = component.automation
    let more: [Call] = [
      { service, _, context in _ = try await service.createTemplate(.init(), context: context) },
      { service, _, context in _ = try await service.listTemplates(.init(), context: context) },
      { service, _, context in _ = try await service.createHeartbeat(.init(), context: context) },
      { service, _, context in _ = try await service.listHeartbeats(.init(), context: context) },
      { service, _, context in _ = try await service.createWebhook(.init(), context: context) },
      { service, _, context in _ = try await service.listWebhooks(.init(), context: context) },
    ]
    #expect(Self.calls.count + more.count == Methods.all.count)
    for call in Self.calls.map(\.call) + more {
      #expect(await failure { try await call(service, "x", nobody) }?.code == .unauthenticated)
    }
    await component.close()
  }
}
