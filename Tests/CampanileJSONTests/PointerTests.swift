import CampanileJSON
import Testing

/// RFC 6901, section by section.
@Suite struct PointerTests {
  @Test("section 5: every pointer of the table")
  func evaluation() throws {
    let document = try JSONValue.parse(
      #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#)
    let table: [(String, String)] = [
      ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"),
      ("/g|h", "4"), (#"/i\j"#, "5"), (#"/k"l"#, "6"), ("/ ", "7"), ("/m~0n", "8"),
    ]
    #expect(try JSONPointer("").value(in: document) == document)
    for (pointer, value) in table {
      #expect(try JSONPointer(pointer).value(in: document) == JSONValue.parse(value), "\(pointer)")
      #expect(try JSONPointer(pointer).description == pointer)
    }
  }
}
