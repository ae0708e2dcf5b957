import CampanileBase
import CampanileRPC
import Foundation
import Testing

@testable import CampanileCLI

@Suite struct JSONFormatterTests {
  static let text = #" { "z" : [ 1 , -2.50e3, { } , [ ] ], "a":"x, \"y\": {\\", "t":true, "n":null , "è":"日本 🔔"} "#

  @Test func keepsKeysNumbersAndStringsInCompactForm() {
    #expect(
      JSONFormatter(layout: .compact).format(Self.text)
        == #"{"z":[1,-2.50e3,{},[]],"a":"x, \"y\": {\\","t":true,"n":null,"è":"日本 🔔"}"#)
  }

  @Test func indentsByTwoSpaces() {
    #expect(
      JSONFormatter(layout: .pretty).format(#"{"b":[1,{"c":{}}],"a":[]}"#) == """
        {
          "b": [
            1,
            {
              "c": {}
            }
          ],
          "a": []
        }
        """)
  }

  @Test(arguments: JSONFormatter.Layout.allCases)
  func preservesValues(layout: JSONFormatter.Layout) throws {
    let formatted = JSONFormatter(layout: layout).format(Self.text)
    let before = try JSONSerialization.jsonObject(with: Data(Self.text.utf8)) as? NSDictionary
    let after = try JSONSerialization.jsonObject(with: Data(formatted.utf8)) as? NSDictionary
    #expect(before != nil && before == after)
    #expect(JSONFormatter(layout: layout).format(formatted) == formatted)
  }

  @Test func coloursKeysAndValuesDifferently() {
    let coloured = JSONFormatter(layout: .compact, isColoured: true).format(#"{"k":"v","n":1}"#)
    let cyan = Terminal.Colour.cyan.start
    let green = Terminal.Colour.green.start
    let yellow = Terminal.Colour.yellow.start
    let end = Terminal.Colour.end
    #expect(coloured == #"{\#(cyan)"k"\#(end):\#(green)"v"\#(end),\#(cyan)"n"\#(end):\#(yellow)1\#(end)}"#)
  }

  @Test(arguments: [
    "", "{", "\"", "\"\\", "]]]]", "{\"a\"", ",,:", "nul", "[1,2", String(repeating: "[", count: 50_000),
  ])
  func preservesTokensOfInvalidJSON(text: String) {
    let compact = JSONFormatter(layout: .compact).format(text)
    #expect(compact.filter { !$0.isWhitespace } == text.filter { !$0.isWhitespace })
  }
}

/// Escaping of text from other parties for terminals.
@Suite struct TerminalTextTests {
  /// Unsafe characters with their escapes.
  static let unsafe: [(Unicode.Scalar, String)] =
    [(0x00...0x1F), (0x7F...0x9F), (0x061C...0x061C), (0x200E...0x200F), (0x2028...0x202E), (0x2066...0x2069)]
    .flatMap { Array($0) }.compactMap { (value: UInt32) in
      Unicode.Scalar(value).map { ($0, "\\u" + String(format: "%04x", value)) }
    }

  @Test func everyUnsafeCharacterIsEscaped() {
    for (scalar, escape) in Self.unsafe {
      #expect(Terminal.printableJSON("\"a\(scalar)b\"".utf8) == Array("\"a\(escape)b\"".utf8))
      if scalar != "\t" { #expect(Terminal.printable("a\(scalar)b") == "a\(escape)b") }
    }
    #expect(Terminal.printable("a\tb") == "a\tb")
    #expect(Terminal.printable("a\nb", except: ["\n"]) == "a\nb")
  }

  @Test(arguments: [
    "", "plain", "è £ \u{a0}", "日本 🔔", "\u{61b}\u{61d}", "\u{200d}\u{2010}\u{2027}\u{202f}", "\u{2065}\u{206a}",
    "e\u{301}",
  ])
  func otherCharactersAreUnchanged(text: String) {
    #expect(Terminal.printable(text) == text)
    #expect(Terminal.printableJSON(text.utf8) == Array(text.utf8))
  }

  @Test(arguments: JSONFormatter.Layout.allCases)
  func escapingPreservesJSONValue(layout: JSONFormatter.Layout) throws {
    let text = String(String.UnicodeScalarView(Self.unsafe.map(\.0).filter { $0.value >= 0x20 }))
    let json = "{\"\(text)\":[\"\(text)\",1]}"
    let shown = JSONFormatter(layout: layout).format(json)
    let before = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary
    let after = try JSONSerialization.jsonObject(with: Data(shown.utf8)) as? NSDictionary
    #expect(before != nil && before == after)
    #expect(!shown.unicodeScalars.contains { Terminal.isUnsafe($0) && $0 != "\n" })
  }

  @Test func controlsBetweenTokensDoNotLoop() {
    #expect(JSONFormatter(layout: .compact).format("{\u{1}\u{1b}[2J:\u{9b}}") == #"{\u0001\u001b[2J:\u009b}"#)
  }

  @Test func allOutputIsEscaped() {
    let bad = "x\u{9b}2J\u{202e}y"
    let good = #"x\u009b2J\u202ey"#
    #expect(ErrorReport.lines(for: RPCError(.unknown, bad))[0] == "UNKNOWN: \(good)")
    let finding = Finding.bad(bad, bad, do: bad)
    #expect(DoctorCommand.lines(finding, isColoured: false) == ["bad      \(good): \(good)", "         → \(good)"])
    let method = KnownMethod(service: bad, name: bad)
    #expect(ListCommand.text([method], isColoured: false).joined().contains("  \(good)"))
    #expect(!ListCommand.text([method], isColoured: false).joined().contains("\u{9b}"))
    let printer = LogPrinter(names: ["up"], isColoured: true)
    #expect(String(decoding: printer.line("up", Array(bad.utf8)), as: UTF8.self).hasSuffix("\(good)\n"))
  }
}

@Suite struct LineSplitterTests {
  @Test func joinsPartialLines() {
    var splitter = LineSplitter(lineBytesMax: 100)
    #expect(splitter.add(Array("one\ntw".utf8)) == [Array("one".utf8)])
    #expect(splitter.add(Array("o\n\nth".utf8)) == [Array("two".utf8), []])
    #expect(splitter.finish() == [Array("th".utf8)])
    #expect(splitter.finish() == [])
  }

  @Test func splitsLongLines() {
    var splitter = LineSplitter(lineBytesMax: 4)
    #expect(splitter.add(Array("123456789\n1234\n".utf8)) == ["1234", "5678", "9", "1234"].map { Array($0.utf8) })
  }
}
