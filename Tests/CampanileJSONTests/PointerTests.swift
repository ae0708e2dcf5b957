import CampanileJSON
import Testing

/// RFC 6901, section by section.
@Suite struct PointerTests {
  private static let document =
    #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#
  /// The pointers of section 5, the same as fragments in section 6, and their values.
  private static let table: [(String, String, String)] = [
    ("", "#", document), ("/foo", "#/foo", #"["bar","baz"]"#), ("/foo/0", "#/foo/0", #""bar""#), ("/", "#/", "0"),
    ("/a~1b", "#/a~1b", "1"), ("/c%d", "#/c%25d", "2"), ("/e^f", "#/e%5Ef", "3"), ("/g|h", "#/g%7Ch", "4"),
    (#"/i\j"#, "#/i%5Cj", "5"), (#"/k"l"#, "#/k%22l", "6"), ("/ ", "#/%20", "7"), ("/m~0n", "#/m~0n", "8"),
  ]

  @Test("section 3: tokens follow slashes; ~ and / are escaped")
  func syntax() throws {
    #expect(try JSONPointer("").tokens == [])
    #expect(try JSONPointer("/").tokens == [""])
    #expect(try JSONPointer("//a/").tokens == ["", "a", ""])
    #expect(try JSONPointer("/~01").tokens == ["~1"])
    #expect(try JSONPointer("/~1~0~1").tokens == ["/~/"])
    for text in ["a", " /a", "/~", "/~2", "/a~", "/~/", "#/a"] {
      #expect(throws: JSONPointerError.self, "\(text)") { try JSONPointer(text) }
    }
    #expect(throws: JSONPointerError.self) { try JSONPointer(String(repeating: "/", count: 1025)) }
    #expect(try JSONPointer(String(repeating: "/", count: 1024)).tokens.count == 1024)
  }

  @Test("section 4: names are not normalised, indices have no leading zeros, and - is never found")
  func evaluation() throws {
    let document = try JSONValue.parse(#"{"é":1,"a":[10,20,[30]],"s":"text","0":{"00":"x"}}"#)
    #expect(try JSONPointer("/é").value(in: document) == .number(1))
    #expect(try JSONPointer("/a/2/0").value(in: document) == .number(30))
    #expect(try JSONPointer("/0/00").value(in: document) == .string("x"))
    let failing: [(String, JSONPointerError.Code, String)] = [
      ("/e\u{301}", .notFound, "/e\u{301}"), ("/a/3", .notFound, "/a/3"), ("/a/-", .notFound, "/a/-"),
      ("/a/00", .invalidIndex, "/a/00"),
      ("/a/01", .invalidIndex, "/a/01"), ("/a/-1", .invalidIndex, "/a/-1"), ("/a/+1", .invalidIndex, "/a/+1"),
      ("/a/1e0", .invalidIndex, "/a/1e0"),
      ("/a/ 1", .invalidIndex, "/a/ 1"), ("/a/", .invalidIndex, "/a/"),
      ("/a/99999999999999999999", .invalidIndex, "/a/99999999999999999999"),
      ("/s/0", .notFound, "/s/0"), ("/x/y", .notFound, "/x"), ("/a/１", .invalidIndex, "/a/１"),
    ]
    for (text, code, at) in failing {
      let error = #expect(throws: JSONPointerError.self) { try JSONPointer(text).value(in: document) }
      #expect(error?.code == code, "\(text)")
      #expect(error?.pointer == at)
    }
  }

  @Test("section 5: the JSON string representation")
  func strings() throws {
    let document = try JSONValue.parse(Self.document)
    for (pointer, _, value) in Self.table {
      #expect(try JSONPointer(pointer).value(in: document) == JSONValue.parse(value), "\(pointer)")
      #expect(try JSONPointer(pointer).description == pointer)
    }
  }

  @Test("section 6: the URI fragment representation")
  func fragments() throws {
    let document = try JSONValue.parse(Self.document)
    for (pointer, fragment, value) in Self.table {
      #expect(try JSONPointer(uriFragment: fragment).value(in: document) == JSONValue.parse(value), "\(fragment)")
      #expect(try JSONPointer(pointer).uriFragment == fragment)
    }
    #expect(try JSONPointer(uriFragment: "/%C3%A9").tokens == ["é"])
    #expect(JSONPointer(tokens: ["é\n"]).uriFragment == "#/%C3%A9%0A")
    for text in ["#/%", "#/%2", "#/%GG", "#/%FF", "#a"] {
      #expect(throws: JSONPointerError.self, "\(text)") { try JSONPointer(uriFragment: text) }
    }
  }

  @Test func equality() throws {
    #expect(JSONPointer(tokens: ["a"]) == (try JSONPointer("/a")))
    #expect(JSONPointer(tokens: ["é"]) != JSONPointer(tokens: ["e\u{301}"]))
    #expect(Set([JSONPointer(tokens: ["a", "b"]), JSONPointer(tokens: ["ab"]), try JSONPointer("/a/b")]).count == 2)
  }
}
