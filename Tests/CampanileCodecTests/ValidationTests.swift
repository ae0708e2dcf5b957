import CampanileBase
import CampanileCodec
import TestMessages
import Testing

/// A message with the checks that the generator makes for a text, a list and a nested message.
private struct Outer: ValidatedMessage {
  static var protoFullName: String { "test.Outer" }
  var name = ""
  var parts: [Outer] = []

  init() {}
  init(from reader: inout JSONReader) throws(ProtoJSONError) {}
  func encode(to writer: inout JSONWriter) {}

  init(_ name: String, _ parts: [Outer] = []) { (self.name, self.parts) = (name, parts) }

  func validate(into violations: inout Violations) {
    violations.text(name, "name", min: 1, max: 3)
    violations.entries(parts.count, "parts", max: 2)
    for (index, part) in parts.enumerated() {
      let count = violations.count
      part.validate(into: &violations)
      violations.move(after: count, into: "parts", index: index)
    }
  }
}

struct ValidationTests {
  private func violations(of message: Outer, _ path: String = "", fields: [String]? = nil) -> [String] {
    var violations = Violations()
    message.validate(path, fields: fields, into: &violations)
    return violations.items.map { "\($0.field) \($0.reason)" }
  }

  /// Texts of up to three words of the search, with U+0000 at each place, and of the bytes next to it.
  @Test func zeroIsFoundAtEachPlace() {
    for count in 0...40 {
      for filling in ["\u{1}", "\u{7F}", "é", "\u{80}"] {
        let text = String(repeating: filling, count: count)
        var violations = Violations()
        violations.text(text, "text")
        #expect(violations.isEmpty)
        for place in text.indices {
          var text = text
          text.replaceSubrange(place...place, with: ["\u{0}"])
          violations.textBytes(text, "text")
        }
        #expect(violations.count == count)
      }
    }
  }

  @Test func violationsHaveTheirPaths() {
    let message = Outer("", [Outer("four"), Outer("abc", [Outer("\u{0}")])])
    #expect(
      violations(of: message) == ["name REQUIRED", "parts[0].name TOO_LONG", "parts[1].parts[0].name TEXT_INVALID"])
    #expect(violations(of: message, "requests[7].").first == "requests[7].name REQUIRED")
  }

  @Test func aMaskSelectsFieldsAndTheirParts() {
    let message = Outer("", [Outer("four")])
    #expect(violations(of: message, "m.", fields: ["parts"]) == ["m.parts[0].name TOO_LONG"])
    #expect(violations(of: message, "m.", fields: ["part", "nam"]) == [])
  }

  @Test func lengthsAreCountedInCodePoints() {
    // Three code points of one, two and four bytes; then a letter with two combining accents.
    #expect(violations(of: Outer("aé\u{1F514}")) == [])
    #expect(violations(of: Outer("e\u{301}\u{302}")) == [])
    #expect(violations(of: Outer("e\u{301}\u{302}\u{303}")) == ["name TOO_LONG"])
  }

  @Test func numbersAreInTheirRange() {
    var violations = Violations()
    violations.range(Int32(5), "a", from: 1, to: 5)
    violations.range(Double.nan, "b", from: 0, to: 1)
    violations.range(UInt64.max, "c", from: 1)
    violations.range(Int64.min, "d", from: 0)
    #expect(violations.items.map(\.field) == ["b", "d"])
  }

  @Test func enumsAreInTheirLists() {
    func reasons(_ colors: Color..., check: (inout Violations, Color) -> Void) -> [String] {
      var violations = Violations()
      for color in colors { check(&violations, color) }
      return violations.items.map { "\($0.reason) \($0.description)" }
    }
    #expect(
      reasons(.red, .green, .unspecified, .unrecognized(9)) { $0.enumeration($1, "color", in: [1, 7]) } == [
        "ENUM_UNKNOWN must be one of COLOR_RED, COLOR_DEEP_SKY_BLUE", "ENUM_UNSPECIFIED must be given",
        "ENUM_UNKNOWN must be one of COLOR_RED, COLOR_DEEP_SKY_BLUE",
      ])
    #expect(
      reasons(.red, .green, .unspecified) { $0.enumeration($1, "color", notIn: [2]) } == [
        "ENUM_UNKNOWN must not be COLOR_GREEN"
      ])
  }

  @Test func patternsMatchWholeTexts() {
    // ^#[0-9A-Fa-f]{6}$
    let color = TextPattern(.init(1 << 35, 0), .init(0x3ff_0000_0000_0000, 0x7e_0000_007e, 6, 6))
    #expect(["#00ffAA", "#123456"].allSatisfy(color.matches))
    #expect(
      !["", "#", "123456", "#12345", "#1234567", "#12345g", "#12345é", "#12345\u{0}"].contains(where: color.matches))
  }

  @Test func aKeyOfTheRequestIsShortened() {
    var violations = Violations()
    violations.text("", "", min: 1)
    violations.move(after: 0, into: "entries", key: String(repeating: "k", count: 100))
    #expect(violations.items.map(\.field) == ["entries." + String(repeating: "k", count: 64)])
  }
}
