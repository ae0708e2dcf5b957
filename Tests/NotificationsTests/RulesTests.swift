import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Testing

@testable import Notifications

@Suite struct RulesTests {
  @Test(arguments: [
    "http://example.org", "https://example.org/a?b=c#d", "HTTPS://EXAMPLE.ORG", "https://user@example.org:8443/",
    "https://[2001:db8::1]:443/x", "https://例え.jp/路", "http://localhost:7480", "https://example.org:/",
  ])
  func acceptsWebURLs(_ url: String) { #expect(URLRules.isWebURL(url[...])) }

  @Test(arguments: [
    "", "example.org", "//example.org", "ftp://example.org", "http:/example.org", "http://", "https:///path",
    "https://?q", "https://#f", "http://:80", "http://user@/", "http://example.org:port", "http://example.org:70000",
    "http://exa mple.org", "http://example.org/\u{1}", "http://example.org/\"", "http://[::1", "http://[]/",
    "javascript:alert(1)", "1http://example.org", "ht\ntp://example.org", " http://example.org",
  ])
  func rejectsOtherURLs(_ url: String) { #expect(!URLRules.isWebURL(url[...])) }

  @Test(arguments: [
    ("zentik://bucket/1", true), ("tel:+391234", true), ("mailto:a@example.org", true), ("https://example.org", true),
    ("https://", false), ("javascript:alert(1)", false), ("JavaScript:alert(1)", false), ("data:text/html,x", false),
    ("file:///etc/passwd", false), ("noscheme", false), ("x:", false), (":x", false), ("vbscript:x", false),
  ])
  func acceptsAppSchemesButRejectsCode(_ url: String, _ expected: Bool) {
    #expect(URLRules.isNavigable(url[...]) == expected)
  }

  @Test(arguments: [
    (ActionType.backgroundCall, "POST::https://example.org/a::b", true),
    (.backgroundCall, "post::https://x.org", false),
    (.backgroundCall, "POST:https://x.org", false), (.backgroundCall, "::https://x.org", false),
    (.backgroundCall, "", false),
    (.backgroundCall, "CONNECT::https://x.org", false), (.backgroundCall, "GET::zentik://x", false),
    (.backgroundCall, "GET:", false),
    (.snooze, "1", true), (.snooze, "525600", true), (.snooze, "525601", false), (.snooze, "0", false),
    (.snooze, "-5", false), (.snooze, "+5", false), (.snooze, "5.5", false), (.snooze, "", false),
    (.postpone, "60", true), (.postpone, "99999999999999999999", false),
    (.webhook, "hook-1", true), (.webhook, "", false), (.webhook, "a b", false),
    (.markAsRead, "", true), (.markAsRead, "mark_as_read_notification", true), (.markAsRead, "x", false),
    (.delete, "delete_notification", true), (.delete, "", true), (.delete, "x", false),
    (.openNotification, "", true), (.openNotification, "6f1c-22", true), (.openNotification, "a/b", false),
    (.navigate, "zentik://x", true), (.navigate, "", false), (.unspecified, "", false), (.unrecognized(99), "", false),
  ])
  func actionValuesFitTheirTypes(_ type: ActionType, _ value: String, _ expected: Bool) {
    let action = Action(type: type, value: value)
    var violations = Violations()
    action.validate("action.", into: &violations)
    ActionRules.check(action, "action", &violations)
    #expect(violations.isEmpty == expected, "\(violations.items)")
  }

  @Test func countsCodePointsAtTheLimits() {
    func fits(_ text: String) -> Bool {
      var violations = Violations()
      violations.text(text, "text", max: 256)
      return violations.isEmpty
    }
    #expect(fits(String(repeating: "🎉", count: 256)))
    #expect(!fits(String(repeating: "🎉", count: 257)))
    #expect(fits(String(repeating: "a", count: 256)))
    #expect(!fits(String(repeating: "é", count: 257)))
    #expect(!fits(String(repeating: "a", count: 100_000)))
  }

  @Test(arguments: [
    ("#00ff7F", true), ("#00ff7", false), ("#00ff7f0", false), ("00ff7f", false), ("#00gg00", false), ("", false),
    ("#🎉00", false),
  ])
  func colors(_ text: String, _ expected: Bool) {
    var violations = Violations()
    Bucket(name: "b", color: text).validate(into: &violations)
    #expect(violations.items.map(\.reason) == (expected ? [] : ["COLOR_INVALID"]))
  }

  @Test func collectsEveryViolation() throws {
    let bad = Notification(
      subtitle: String(repeating: "x", count: 257), body: "a\u{0}", priority: .unrecognized(9),
      attachments: [Attachment()], actions: Array(repeating: Action(), count: 17), tapAction: Action())
    var violations = Violations()
    bad.validate("notification.", into: &violations)
    NotificationRules.check(bad, "notification", nowMs: 0, &violations)
    #expect(
      violations.items.map { "\($0.field) \($0.reason)" } == [
        "notification.subtitle TOO_LONG", "notification.body TEXT_INVALID", "notification.priority ENUM_UNKNOWN",
        "notification.attachments[0].mediaType ENUM_UNSPECIFIED", "notification.actions TOO_MANY",
      ] + (0..<17).map { "notification.actions[\($0)].type ENUM_UNSPECIFIED" } + [
        "notification.tapAction.type ENUM_UNSPECIFIED", "notification.title REQUIRED",
        "notification.attachments[0].url REQUIRED", "notification.bucketId REQUIRED",
      ])
    let error = #expect(throws: (any Error).self) { try violations.check() }
    #expect("\(error.map { "\($0)" } ?? "")".contains("FIELDS_INVALID"))
  }

  @Test func reportedViolationsAreLimited() {
    var violations = Violations()
    for index in 0..<1_000 { violations.add("f\(index)", "x", .required) }
    #expect(violations.items.count == Violations.countMax)
  }
}
