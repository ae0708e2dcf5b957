import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import Testing

@testable import Notifications

@Suite struct WebhookServiceTests {
  @Test func headersAreSecret() async throws {
    let component = try await Fixture().open()
    let service = component.automation
    let made = try await service.make(webhook("w", headers: ["Authorization": "Bearer 1", "X-B": "2"]), anna)
    #expect(made.id.hasPrefix("w_") && made.method == .post)
    #expect(made.headers == ["Authorization": "***", "X-B": "***"])
    #expect(try component.kept(made.id, user: "anna")?.headers == ["Authorization": "Bearer 1", "X-B": "2"])
    #expect(try await service.listWebhooks(.init(), context: anna).webhooks == [made])
    // `***` retains a value, regardless of the case of the name; omitted headers are removed.
    var change = made
    change.headers = ["authorization": "***", "X-C": "3"]
    change.body = "x"
    var update = UpdateWebhookRequest(webhook: change, updateMask: mask("headers"))
    let changed = try #require(try await service.updateWebhook(update, context: anna).webhook)
    #expect(changed.headers == ["authorization": "***", "X-C": "***"] && changed.body == "")
    #expect(try component.kept(made.id, user: "anna")?.headers == ["authorization": "Bearer 1", "X-C": "3"])
    update.webhook?.etag = ""
    update.webhook?.headers = ["X-New": "***"]
    let error = await failure { try await service.updateWebhook(update, context: anna) }
    #expect(error?.code == .invalidArgument && faults(error) == ["webhook.headers.X-New HEADER_VALUE_INVALID"])
    // Updates of other fields do not change the values.
    update.updateMask = mask("name", "method", "url", "body")
    update.webhook?.etag = made.etag
    let stale = await failure { try await service.updateWebhook(update, context: anna) }
    #expect(stale?.code == .aborted && faults(stale) == ["webhook.etag ETAG_MISMATCH"])
    update.webhook?.etag = changed.etag
    update.webhook?.name = "other"
    update.webhook?.method = .unspecified
    let renamed = try #require(try await service.updateWebhook(update, context: anna).webhook)
    #expect(renamed.name == "other" && renamed.method == .post && renamed.body == "x")
    #expect(try component.kept(made.id, user: "anna")?.headers["X-C"] == "3")
    let first = await failure { try await service.make(webhook("w", headers: ["X": "***"]), anna) }
    #expect(faults(first) == ["webhook.headers.X HEADER_VALUE_INVALID"])
    let delete = await failure {
      try await service.deleteWebhook(.init(webhookId: made.id, etag: made.etag), context: anna)
    }
    #expect(faults(delete) == ["etag ETAG_MISMATCH"])
    _ = try await service.deleteWebhook(.init(webhookId: made.id, etag: renamed.etag), context: anna)
    await component.close()
  }

  @Test func invalidWebhooksAreRejected() async throws {
    let component = try await Fixture().open()
    let service = component.automation
    var bad = webhook("", headers: ["Host": "x", "A B": "1", "X": "a\r\nEvil: 1", "y": "1", "Y": "2", "É": "1"])
    bad.webhook?.method = .init(rawValue: 7)
    bad.webhook?.url = "ftp://example.org"
    bad.webhook?.body = String(repeating: "x", count: 16_385)
    let error = await failure { try await service.createWebhook(bad, context: anna) }
    #expect(
      faults(error) == [
        "webhook.name REQUIRED", "webhook.method ENUM_UNKNOWN", "webhook.body TOO_LONG", "webhook.url URL_INVALID",
        "webhook.headers.A B HEADER_NAME_INVALID", "webhook.headers.Host HEADER_NAME_INVALID",
        "webhook.headers.X HEADER_VALUE_INVALID", "webhook.headers.y HEADER_NAME_INVALID",
        "webhook.headers.É HEADER_NAME_INVALID",
      ])
    let many = Dictionary(uniqueKeysWithValues: (0..<33).map { ("X-\($0)", "") })
    #expect(
      faults(await failure { try await service.make(webhook("w", headers: many), anna) }) == [
        "webhook.headers TOO_MANY"
      ])
    let long = await failure {
      try await service.make(webhook("w", headers: ["X": String(repeating: "x", count: 2_049)]), anna)
    }
    #expect(faults(long) == ["webhook.headers.X HEADER_VALUE_INVALID"])
    bad = webhook("w")
    bad.webhook?.url = "https://example.org/" + String(repeating: "x", count: 2_048)
    bad.webhook?.body = "\u{0}"
    #expect(
      faults(await failure { try await service.createWebhook(bad, context: anna) }) == [
        "webhook.url TOO_LONG", "webhook.body TEXT_INVALID",
      ])
    bad = webhook("w")
    bad.webhook?.url = "https://anna:secret@example.org/"
    let credentials = await failure { try await service.createWebhook(bad, context: anna) }
    #expect(faults(credentials) == ["webhook.url URL_INVALID"] && credentials?.message.contains("secret") == false)
    #expect(faults(await failure { try await service.createWebhook(.init(), context: anna) }) == ["webhook REQUIRED"])
    #expect(faults(await failure { try await service.updateWebhook(.init(), context: anna) }) == ["webhook REQUIRED"])
    #expect(try await service.listWebhooks(.init(), context: anna).webhooks.isEmpty)
    await component.close()
  }
}
