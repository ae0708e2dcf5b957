import CampanileAPI
import CampanileBase
import CampanileRPC
import ServiceTesting
import Testing

@testable import Activities

/// The members that a caller places next to `aps`, and critical alerts by app.
@Suite struct AlertMembersTests {
  private func request(_ id: String, _ json: String) -> SendAlertRequest {
    SendAlertRequest(userId: "anna", alertId: id, alert: Alert(title: "t"), payloadJson: json)
  }

  @Test func membersArePushedUnchanged() async throws {
    let component = try await Fixture().open()
    try await component.register(token(.device, hex(1)), anna)
    let aps = #"{"aps":{"alert":{"title":"t"}}"#
    for (index, (json, expected)) in [
      (#"{"nid":"n","act":[{"t" : 1}]}"#, aps + #","nid":"n","act":[{"t" : 1}]}"#),
      (" {\n \"nid\": \"}\" \t} ", aps + ",\"nid\": \"}\" \t}"), ("{}", aps + "}"), ("{ }", aps + "}"), ("", aps + "}"),
    ].enumerated() {
      _ = try await component.unread.sendAlert(request("\(index)", json), context: program)
      #expect(try await component.sendAll().map(\.payload) == [expected])
    }
    var both = request("both", #"{"a":1}"#)
    both.dataJson = #"{"b":2}"#
    both.notificationId = "n"
    _ = try await component.unread.sendAlert(both, context: program)
    let pushed = try #require(try await component.sendAll().first).payload
    #expect(pushed == aps + #","notificationId":"n","data":{"b":2},"a":1}"#)
    await component.close()
  }

  @Test(
    arguments: [
      ("[]", "JSON_INVALID"), ("{", "JSON_INVALID"), (#"{"a":1,"a":2}"#, "JSON_INVALID"),
      (#"{"aps":1}"#, "FIELD_NOT_ALLOWED"), (#"{"x":1,"rct":""}"#, "FIELD_NOT_ALLOWED"),
      (#"{"data":{}}"#, "FIELD_NOT_ALLOWED"), (#"{"\u0061ps":1}"#, "FIELD_NOT_ALLOWED"),
    ])
  func otherMembersAreRefused(json: String, reason: String) async throws {
    let component = try await Fixture().open()
    let error = await failure { try await component.unread.sendAlert(request("1", json), context: program) }
    #expect(error?.fieldViolations.map { "\($0.field) \($0.reason)" } == ["payloadJson \(reason)"])
    await component.close()
  }

  @Test func largestPartIsNamed() async throws {
    let component = try await Fixture().open()
    var large = request("1", #"{"a":"\#(String(repeating: "x", count: 4_000))"}"#)
    large.dataJson = #"{"b":"\#(String(repeating: "x", count: 200))"}"#
    let error = await failure { try await component.unread.sendAlert(large, context: program) }
    #expect(error?.reason == "PAYLOAD_TOO_LARGE" && error?.fieldViolations.map(\.field) == ["payloadJson"])
    await component.close()
  }

  /// "Generating a remote notification".
  @Test("apps without Apple's entitlement get a critical alert as a time-sensitive one")
  func criticalAlertsDependOnTheApp() async throws {
    let component = try await Fixture().open()
    try await component.register(token(.device, hex(1)), anna)
    var other = token(.device, hex(2))
    other.app = "com.example.other"
    let plain = try await component.register(other, anna)
    let sound = Sound(name: "siren", critical: true, volume: 0.5)
    for (index, level) in [InterruptionLevel.critical, .active].enumerated() {
      _ = try await component.unread.sendAlert(
        .init(
          userId: "anna", alertId: "\(index)", alert: Alert(title: "Fire", sound: sound), interruptionLevel: level),
        context: program)
      let sent = try await component.sendAll()
      let own = try #require(sent.first { $0.target != plain.id }).payload
      let downgraded = try #require(sent.first { $0.target == plain.id }).payload
      let alert = #"{"aps":{"alert":{"title":"Fire"},"sound":"#
      #expect(own.hasPrefix(alert + #"{"critical":1,"name":"siren","volume":0.5},"#))
      #expect(own.contains(level == .critical ? "\"critical\"}" : "\"active\"}"))
      let levelName = level == .critical ? "time-sensitive" : "active"
      #expect(downgraded == alert + #""siren","interruption-level":"\#(levelName)"}}"#)
    }
    await component.close()
  }
}
