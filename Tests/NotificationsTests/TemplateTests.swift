import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Testing

@testable import Notifications

@Suite struct TemplateTests {
  private func template(_ title: String, _ subtitle: String? = nil, _ body: String? = nil) -> Template {
    Template(name: "t", title: title, subtitle: subtitle, body: body)
  }

  private func render(
    _ template: Template, _ values: [String: String], into draft: Notification = Notification(), prefix: String = ""
  ) -> (Notification, [String]) {
    var draft = draft
    var violations = Violations()
    CreateNotificationRequest(notification: draft, variables: values).validate(prefix, into: &violations)
    if violations.isEmpty {
      TemplateRules.render(template: template, variables: values, into: &draft, prefix: prefix, &violations)
    }
    return (draft, violations.items.map { "\($0.field) \($0.reason)" })
  }

  @Test(arguments: [
    ("plain", "plain"), ("", ""), ("{{a}}", "1"), ("x{{a}}y{{b}}z", "x1y{{a}}z"), ("{{a}}{{a}}", "11"),
    ("{{c|none}}", "none"), ("{{a|none}}", "1"), ("{{c|}}", ""), ("{{c|a|b}}", "a|b"), ("{ {a} }", "{ {a} }"),
    ("}} {{a}} }}", "}} 1 }}"), ("{{c|{}}", "{"), ("{{a}}}", "1}"), ("{", "{"), ("é{{a}}ü{{c|日本}}", "é1ü日本"),
    ("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"),
  ])
  func insertsValues(_ text: String, _ expected: String) throws {
    // The value of b looks like a variable but is not replaced.
    let values = ["a": "1", "b": "{{a}}"]
    #expect(try TemplateText(text).rendered(values, sizeBytesMax: 1_000) == expected)
  }

  @Test(arguments: [
    ("{{", 0), ("ab{{name", 2), ("é{{a}", 2), ("{{}}", 0), ("{{ a }}", 0), ("{{a b}}", 0), ("{{a-b}}", 0), ("{{ä}}", 0),
    ("{{{a}}}", 0), ("{{|x}}", 0), ("{{a|{{b}}}}", 0), ("ok {{a}} {{b", 9),
  ])
  func rejectsBrokenTexts(_ text: String, _ offset: Int) {
    let fault = #expect(throws: TemplateText.Fault.self) { try TemplateText(text) }
    #expect(fault?.offsetBytes == offset)
  }

  @Test func variableNamesHaveLimits() {
    #expect(throws: Never.self) { try TemplateText("{{\(String(repeating: "a", count: 64))}}") }
    #expect(throws: TemplateText.Fault.self) { try TemplateText("{{\(String(repeating: "a", count: 65))}}") }
  }

  @Test func requiredVariablesAreInTheOrderOfTheirFirstUse() {
    let template = template("{{b}} {{a|x}}", "{{c}}", "{{a}} {{b}} {{d|y}}")
    #expect(TemplateRules.requiredVariables(of: template) == ["b", "c", "a"])
  }

  @Test func rendersFieldsMissingInDraft() {
    let whole = template("T {{a}}", "S {{b|none}}", "B {{a}}")
    var (made, faults) = render(whole, ["a": "1"])
    #expect(faults == [] && made.title == "T 1" && made.subtitle == "S none" && made.body == "B 1")
    var draft = Notification(title: "own", body: "")
    (made, faults) = render(whole, ["a": "1", "b": "2"], into: draft)
    #expect(faults == [] && made.title == "own" && made.subtitle == "S 2" && made.body == "")
    // Texts that are not rendered need no values.
    draft.body = "own"
    (made, faults) = render(whole, [:], into: draft)
    #expect(faults == [] && made.subtitle == "S none")
  }

  @Test func invalidVariablesLeaveDraftUnchanged() {
    let whole = template("{{a}} {{b}}", nil, "{{a}} {{c|x}}")
    var (made, faults) = render(whole, ["c": "1"], prefix: "requests[2].")
    #expect(
      faults == [
        "requests[2].variables.a TEMPLATE_VARIABLE_MISSING", "requests[2].variables.b TEMPLATE_VARIABLE_MISSING",
      ])
    #expect(made == Notification())
    (made, faults) = render(whole, ["a": "1", "b": "2", "z": "3", "y": "4"])
    #expect(faults == ["variables.y TEMPLATE_VARIABLE_UNKNOWN", "variables.z TEMPLATE_VARIABLE_UNKNOWN"])
    #expect(made == Notification())
    (made, faults) = render(whole, ["a": String(repeating: "x", count: 4_097), "b": "\u{0}", "c d": ""])
    #expect(faults == ["variables.a TOO_LONG", "variables.b TEXT_INVALID", "variables.c d TEXT_INVALID"])
    let many = Dictionary(uniqueKeysWithValues: (0..<65).map { ("v\($0)", "") })
    #expect(render(whole, many).1 == ["variables TOO_MANY"])
  }

  @Test func renderedTextsHaveLimits() {
    let long = String(repeating: "x", count: 4_000)
    #expect(render(template("{{a}}"), ["a": long]).1 == ["notification.title TOO_LONG"])
    #expect(
      render(template("t", "{{a}}", String(repeating: "{{a}}", count: 3_000)), ["a": long], prefix: "requests[0].").1
        == [
          "requests[0].notification.subtitle TOO_LONG", "requests[0].notification.body TOO_LONG",
        ])
    #expect(render(template("t", nil, String(repeating: "{{a}}", count: 4)), ["a": long]).1 == [])
    // Within the byte limit of a title but over its character limit, which the notification's rules check.
    let (made, faults) = render(template("{{a}}"), ["a": String(repeating: "x", count: 300)])
    var violations = Violations()
    made.validate("notification.", into: &violations)
    #expect(faults == [] && violations.items.map(\.reason) == ["TOO_LONG"])
  }

  private func check(_ template: Template, _ violations: inout Violations) {
    template.validate("template.", into: &violations)
    TemplateRules.check(template, "template", &violations)
  }

  @Test func templateFieldsAreValidated() {
    var bad = template("{{x", "}} {{ }}", String(repeating: "x", count: 16_385))
    bad.name = ""
    var violations = Violations()
    check(bad, &violations)
    #expect(
      violations.items.map { "\($0.field) \($0.reason)" } == [
        "template.name REQUIRED", "template.body TOO_LONG", "template.title TEMPLATE_SYNTAX_INVALID",
        "template.subtitle TEMPLATE_SYNTAX_INVALID",
      ])
    violations = Violations()
    check(template("", String(repeating: "x", count: 1_025), "\u{0}"), &violations)
    #expect(
      violations.items.map { "\($0.field) \($0.reason)" } == [
        "template.title REQUIRED", "template.subtitle TOO_LONG", "template.body TEXT_INVALID",
      ])
    violations = Violations()
    let many = (0..<65).map { "{{v\($0)}}" }.joined()
    check(template("t", nil, many), &violations)
    #expect(violations.items.map { "\($0.field) \($0.reason)" } == ["template TOO_MANY"])
  }
}
