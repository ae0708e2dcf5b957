import CampanileCLI
import Foundation
import Testing

@Suite struct JSONFormatterTests {
  static let text = #" { "z" : [ 1 , -2.50e3, { } , [ ] ], "a":"x, \"y\": {\\", "t":true, "n":null , "è":"日本 🔔"} "#

  @Test func keepsKeysNumbersAndStringsInCompactForm() {
    #expect(
      JSONFormatter(layout: .compact).format(Self.text)
        == #"{"z":[1,-2.50e3,{},[]],"a":"x, \"y\": {\\","t":true,"n":null,"è":"日本 🔔"}"#)
  }

  @Test func indentsByTwo() {
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
  func changesNoValue(layout: JSONFormatter.Layout) throws {
    let formatted = JSONFormatter(layout: layout).format(Self.text)
    let before = try JSONSerialization.jsonObject(with: Data(Self.text.utf8)) as? NSDictionary
    let after = try JSONSerialization.jsonObject(with: Data(formatted.utf8)) as? NSDictionary
    #expect(before != nil && before == after)
    #expect(JSONFormatter(layout: layout).format(formatted) == formatted)
  }

  @Test func coloursKeysAndValuesApart() {
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
  func bearsWhatIsNotJSON(text: String) {
    let compact = JSONFormatter(layout: .compact).format(text)
    #expect(compact.filter { !$0.isWhitespace } == text.filter { !$0.isWhitespace })
  }
}

@Suite struct LineSplitterTests {
  @Test func joinsWhatComesInParts() {
    var splitter = LineSplitter(lineBytesMax: 100)
    #expect(splitter.add(Array("one\ntw".utf8)) == [Array("one".utf8)])
    #expect(splitter.add(Array("o\n\nth".utf8)) == [Array("two".utf8), []])
    #expect(splitter.finish() == [Array("th".utf8)])
    #expect(splitter.finish() == [])
  }

  @Test func cutsLongLines() {
    var splitter = LineSplitter(lineBytesMax: 4)
    #expect(splitter.add(Array("123456789\n1234\n".utf8)) == ["1234", "5678", "9", "1234"].map { Array($0.utf8) })
  }
}
