import CampanileAPI
import CampanileBase
import CampanileRPC
import Testing

@testable import Notifications

/// Calls every method as a stranger with another user's ids. The errors equal those for ids that do not exist.
@Suite struct AutomationForeignAccessTests {
  private typealias Call = @Sendable (AutomationService, _ id: String, CallContext) async throws -> Void

  private static let calls: [(method: MethodDescriptor, kind: AutomationKind, call: Call)] = [
    (
      AutomationServiceMethods.getTemplate, .template,
      { service, id, context in
        let request = GetTemplateRequest(templateId: id)
        _ = try await service.getTemplate(request, context: context)
      }
    ),
    (
      AutomationServiceMethods.updateTemplate, .template,
      { service, id, context in
        let change = Template(id: id, name: "mine now")
        let request = UpdateTemplateRequest(template: change)
        _ = try await service.updateTemplate(request, context: context)
      }
    ),
    (
      AutomationServiceMethods.deleteTemplate, .template,
      { service, id, context in
        let request = DeleteTemplateRequest(templateId: id)
        _ = try await service.deleteTemplate(request, context: context)
      }
    ),
    (
      AutomationServiceMethods.beat, .heartbeat,
      { service, id, context in
        let request = BeatRequest(heartbeatId: id)
        _ = try await service.beat(request, context: context)
      }
    ),
    (
      AutomationServiceMethods.deleteHeartbeat, .heartbeat,
      { service, id, context in
        let request = DeleteHeartbeatRequest(heartbeatId: id)
        _ = try await service.deleteHeartbeat(request, context: context)
      }
    ),
    (
      AutomationServiceMethods.updateWebhook, .webhook,
      { service, id, context in
        let change = Webhook(id: id, headers: ["X": "***"])
        let request = UpdateWebhookRequest(webhook: change)
        _ = try await service.updateWebhook(request, context: context)
      }
    ),
    (
      AutomationServiceMethods.deleteWebhook, .webhook,
      { service, id, context in
        let request = DeleteWebhookRequest(webhookId: id)
        _ = try await service.deleteWebhook(request, context: context)
      }
    ),
  ]

  @Test func foreignAndMissingLookTheSame() async throws {
    let component = try await Fixture().open()
    let service = component.automation
    let box = try await component.service.makeBucket("b", user("anna"))
    let own: [AutomationKind: String] = [
      .template: try await service.make(template("t"), user("anna")).id,
      .heartbeat: try await service.make(heartbeat("h", in: box.id), user("anna")).id,
      .webhook: try await service.make(webhook("w", headers: ["X": "1"]), user("anna")).id,
    ]
    for (method, kind, call) in Self.calls {
      let id = try #require(own[kind])
      let absentID = "\(kind.prefix)\(String(repeating: "0", count: 22))"
      let foreign = await failure { try await call(service, id, user("bruno")) }
      var expected = try #require(await failure { try await call(service, absentID, user("bruno")) })
      expected.message = expected.message.replacing(absentID, with: id)
      expected.errorMetadata["id"] = id
      #expect(foreign == expected && foreign?.code == .notFound, "\(method.name)")
    }
    #expect(try await service.listTemplates(.init(), context: user("anna")).templates.count == 1)
    #expect(try await service.listHeartbeats(.init(), context: user("anna")).heartbeats.count == 1)
    #expect(try await service.listWebhooks(.init(), context: user("anna")).webhooks.count == 1)
    #expect(try await service.listWebhooks(.init(), context: user("bruno")).webhooks.isEmpty)
    await component.close()
  }

  @Test func everyMethodNeedsAUser() async throws {
    let component = try await Fixture().open()
    let service = component.automation
    let nobody = CallContext(method: anyMethod)
    let more: [Call] = [
      { service, _, context in _ = try await service.createTemplate(.init(), context: context) },
      { service, _, context in _ = try await service.listTemplates(.init(), context: context) },
      { service, _, context in _ = try await service.createHeartbeat(.init(), context: context) },
      { service, _, context in _ = try await service.listHeartbeats(.init(), context: context) },
      { service, _, context in _ = try await service.createWebhook(.init(), context: context) },
      { service, _, context in _ = try await service.listWebhooks(.init(), context: context) },
    ]
    #expect(Self.calls.count + more.count == AutomationServiceMethods.all.count)
    for call in Self.calls.map(\.call) + more {
      #expect(await failure { try await call(service, "x", nobody) }?.code == .unauthenticated)
    }
    await component.close()
  }
}
