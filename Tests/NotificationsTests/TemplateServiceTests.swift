import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct TemplateServiceTests {
  @Test func createsReadsUpdatesAndDeletes() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let service = component.automation
    var request = template("t", title: "{{b}} {{a|x}}")
    request.template?.body = "{{a}}"
    request.template?.id = "t_mine"
    request.template?.etag = "mine"
    request.template?.requiredVariables = ["z"]
    let made = try await service.make(request, anna)
    #expect(made.id.hasPrefix("t_") && made.id.utf8.count == 24 && made.etag == "v1")
    #expect(made.requiredVariables == ["b", "a"] && made.createTime == made.updateTime)
    let get = GetTemplateRequest(templateId: made.id)
    #expect(try await service.getTemplate(get, context: anna).template == made)
    fixture.clock.advance(by: .seconds(1))
    let change = Template(id: made.id, title: "{{c}}", etag: made.etag)
    var update = UpdateTemplateRequest(template: change)
    let changed = try #require(try await service.updateTemplate(update, context: anna).template)
    #expect(changed.title == "{{c}}" && changed.body == "{{a}}" && changed.name == "t" && changed.etag == "v2")
    #expect(changed.requiredVariables == ["c", "a"] && changed.updateTime != made.updateTime)
    let stale = await failure { try await service.updateTemplate(update, context: anna) }
    #expect(stale?.code == .aborted && stale?.reason == "ETAG_MISMATCH")
    update.template?.etag = ""
    #expect(try await service.updateTemplate(update, context: anna).template == changed)
    update.updateMask = mask("body")
    #expect(try await service.updateTemplate(update, context: anna).template?.body == nil)
    let delete = DeleteTemplateRequest(templateId: made.id)
    _ = try await service.deleteTemplate(delete, context: anna)
    for error in [
      await failure { try await service.deleteTemplate(delete, context: anna) },
      await failure { try await service.getTemplate(get, context: anna) },
    ] {
      #expect(error?.code == .notFound && faults(error) == ["templateId TEMPLATE_NOT_FOUND"])
    }
    let gone = await failure { try await service.updateTemplate(update, context: anna) }
    #expect(gone?.code == .notFound && faults(gone) == ["template.id TEMPLATE_NOT_FOUND"])
    await component.close()
  }

  @Test func invalidTemplatesAreRejectedAndNotStored() async throws {
    let component = try await Fixture().open()
    let service = component.automation
    var bad = template("", title: "{{", requestID: String(repeating: "x", count: 65))
    let error = await failure { try await service.createTemplate(bad, context: anna) }
    #expect(error?.code == .invalidArgument && error?.reason == "FIELDS_INVALID")
    #expect(
      faults(error) == ["template.name REQUIRED", "requestId TOO_LONG", "template.title TEMPLATE_SYNTAX_INVALID"])
    bad.template = nil
    bad.requestId = ""
    #expect(await failure { try await service.createTemplate(bad, context: anna) }?.reason == "REQUIRED")
    #expect(try await service.listTemplates(.init(), context: anna).templates.isEmpty)
    let made = try await service.make(template("t"), anna)
    var update = UpdateTemplateRequest()
    #expect(faults(await failure { try await service.updateTemplate(update, context: anna) }) == ["template REQUIRED"])
    update.template = made
    update.updateMask = mask("name", "id", "no_such")
    #expect(
      faults(await failure { try await service.updateTemplate(update, context: anna) }) == [
        "updateMask FIELD_MASK_INVALID", "updateMask FIELD_MASK_INVALID",
      ])
    update.updateMask = mask("*")
    update.template?.title = ""
    #expect(
      faults(await failure { try await service.updateTemplate(update, context: anna) }) == ["template.title REQUIRED"])
    // Each half is valid, but together they have too many variables.
    var half = template("h", title: (0..<40).map { "{{a\($0)}}" }.joined())
    half.template?.body = ""
    let first = try await service.make(half, anna)
    update.template = first
    update.template?.body = (0..<40).map { "{{b\($0)}}" }.joined()
    update.updateMask = mask("body")
    #expect(faults(await failure { try await service.updateTemplate(update, context: anna) }) == ["template TOO_MANY"])
    #expect(try await service.getTemplate(.init(templateId: first.id), context: anna).template == first)
    await component.close()
  }

  @Test func listsArePagedByToken() async throws {
    let component = try await Fixture().open()
    let service = component.automation
    var ids: [String] = []
    for index in 0..<7 { ids.append(try await service.make(template("t\(index)"), anna).id) }
    _ = try await service.make(template("foreign"), bruno)
    var request = ListTemplatesRequest(pageSize: 3)
    var found: [String] = []
    var sizes: [Int] = []
    repeat {
      let page = try await service.listTemplates(request, context: anna)
      found += page.templates.map(\.id)
      sizes.append(page.templates.count)
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    #expect(found == ids && sizes == [3, 3, 1])
    request.pageSize = 7
    #expect(try await service.listTemplates(request, context: anna).nextPageToken == "")
    request.pageSize = 3
    let token = try await service.listTemplates(request, context: anna).nextPageToken
    request.pageToken = token
    #expect(
      faults(await failure { try await service.listTemplates(request, context: bruno) }) == [
        "pageToken PAGE_TOKEN_INVALID"
      ])
    let hooks = ListWebhooksRequest(pageToken: token)
    #expect(await failure { try await service.listWebhooks(hooks, context: anna) }?.reason == "PAGE_TOKEN_INVALID")
    let beats = ListHeartbeatsRequest(pageSize: -1, pageToken: "x")
    #expect(
      faults(await failure { try await service.listHeartbeats(beats, context: anna) }) == [
        "pageSize OUT_OF_RANGE", "pageToken PAGE_TOKEN_INVALID",
      ])
    await component.close()
  }

  @Test func atMostTwoHundredObjectsOfEachKind() async throws {
    let component = try await Fixture().open()
    let service = component.automation
    for index in 0..<200 { _ = try await service.make(template("t\(index)"), anna) }
    let full = await failure { try await service.make(template("one more"), anna) }
    #expect(full?.code == .resourceExhausted && full?.reason == "AUTOMATION_EXHAUSTED")
    #expect(full?.errorMetadata["limit"] == "200")
    _ = try await service.make(webhook("w"), anna)
    _ = try await service.make(template("t"), bruno)
    let delete = DeleteTemplateRequest(
      templateId: try #require(try await service.listTemplates(.init(), context: anna).templates.first?.id))
    _ = try await service.deleteTemplate(delete, context: anna)
    _ = try await service.make(template("one more"), anna)
    await component.close()
  }

  @Test func requestIDReturnsFirstReply() async throws {
    let fixture = try Fixture()
    var component = try await fixture.open()
    let first = try await component.automation.make(template("t", requestID: "r"), anna)
    await component.close()
    component = try await fixture.open()
    let service = component.automation
    #expect(try await service.make(template("t", requestID: "r"), anna) == first)
    #expect(try await service.listTemplates(.init(), context: anna).templates == [first])
    let reused = await failure { try await service.make(template("other", requestID: "r"), anna) }
    #expect(reused?.code == .failedPrecondition && faults(reused) == ["requestId REQUEST_ID_REUSED"])
    // Request ids are separate per user and method.
    #expect(try await service.make(template("t", requestID: "r"), bruno) != first)
    let hook = try await service.make(webhook("w", headers: ["X": "secret"], requestID: "r"), anna)
    #expect(try await service.make(webhook("w", headers: ["X": "secret"], requestID: "r"), anna) == hook)
    #expect(hook.headers == ["X": "***"])
    await component.close()
  }
}
