import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// Reloads of widgets and controls.
@Suite struct WidgetTests {
  private static func register(_ component: ActivitiesComponent) async throws {
    try await component.register(token(.widgets, hex(1)), anna)
    for (number, id) in [(2, "garage"), (3, "light")] {
      var control = token(.control, hex(number))
      control.controlId = id
      #expect(try await component.register(control, anna).controlId == id)
    }
  }

  @Test(
    "reloads have content-changed and a push type of their own (Updating widgets with WidgetKit push notifications)")
  func reloadsAreQueued() async throws {
    let component = try await Fixture().open()
    try await Self.register(component)
    let all = try await component.widgets.reloadWidgets(.init(userId: "anna"), context: program)
    let sent = try await component.sendAll()
    #expect(all.apnsIds.count == 3 && Set(sent.map(\.pushType)) == ["widgets", "controls"])
    #expect(sent.allSatisfy { $0.kind == .reload && $0.payload == #"{"aps":{"content-changed":true}}"# })
    let light = ReloadWidgetsRequest(userId: "anna", app: app, kind: .controls, controlId: "light")
    #expect(try await component.widgets.reloadWidgets(light, context: program).apnsIds.count == 1)
    let none = ReloadWidgetsRequest(userId: "bruno")
    #expect(try await component.widgets.reloadWidgets(none, context: program).apnsIds.isEmpty)
    await component.close()
  }

  @Test func unsentReloadIsReplaced() async throws {
    let component = try await Fixture().open()
    try await component.register(token(.widgets, hex(1)), anna)
    for _ in 0..<3 { _ = try await component.widgets.reloadWidgets(.init(userId: "anna"), context: program) }
    #expect(try component.queued().count == 1)
    let request = ReloadWidgetsRequest(userId: "anna", requestId: "r")
    let first = try await component.widgets.reloadWidgets(request, context: program)
    #expect(try await component.widgets.reloadWidgets(request, context: program) == first)
    await component.close()
  }

  @Test func tokensAndRequestsAreValidated() async throws {
    let component = try await Fixture().open()
    let unnamed = await failure { try await component.register(token(.control, hex(1)), anna) }
    #expect(unnamed?.fieldViolations.map(\.field) == ["controlId"])
    var named = token(.widgets, hex(1))
    named.controlId = "light"
    let widget = await failure { try await component.register(named, anna) }
    #expect(widget?.fieldViolations.map(\.reason) == ["FIELD_NOT_ALLOWED"])
    let request = ReloadWidgetsRequest(userId: "anna", kind: .widgets, controlId: "light")
    let reload = await failure { try await component.widgets.reloadWidgets(request, context: program) }
    #expect(reload?.fieldViolations.map(\.field) == ["controlId"])
    let denied = await failure { try await component.widgets.reloadWidgets(.init(userId: "anna"), context: anna) }
    #expect(denied?.code == .permissionDenied)
    await component.close()
  }
}
