import CampanileCodec
import TestMessages
import Testing

/// Rejected texts, and the positions in their errors.
@Suite struct ErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var json: String
    var code: ProtoJSONError.Code
    var path: String
    var offset: Int

    init(_ json: String, _ code: ProtoJSONError.Code, _ path: String, _ offset: Int) {
      (self.json, self.code, self.path, self.offset) = (json, code, path, offset)
    }

    var testDescription: String { json }
  }

  static func failure<M: ProtoMessage>(
    _ type: M.Type, _ json: String, _ options: JSONDecodingOptions = .init()
  ) -> ProtoJSONError? {
    do throws(ProtoJSONError) {
      _ = try M(jsonString: json, options: options)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [
    Case(#"{"name":1}"#, .wrongType, "name", 8),
    Case(#"{"child":{"children":[{},{"name":true}]}}"#, .wrongType, "child.children[1].name", 33),
    Case(#"{"byName":{"a b":{"name":[]}}}"#, .wrongType, #"byName["a b"].name"#, 25),
    Case(#"{"name":"a","name":"b"}"#, .duplicateField, "name", 12),
    Case(#"{"byName":{},"by_name":{}}"#, .duplicateField, "by_name", 13),
    Case(#"{"n\u0061me":"a","name":"b"}"#, .duplicateField, "name", 17),
    Case(#"{"byName":{"x":{},"\u0078":{}}}"#, .duplicateField, #"byName["\u0078"]"#, 18),
    Case(#"{"linked":{},"branch":{}}"#, .oneofConflict, "branch", 13),
    Case(#"{"trunk":{"length":2147483648}}"#, .outOfRange, "trunk.length", 19),
    Case(#"{"trunk":{"length":"1.5"}}"#, .wrongType, "trunk.length", 19),
    Case(#"{"trunk":{"length":01}}"#, .wrongType, "trunk.length", 19),
    Case(#"{"children":[null]}"#, .wrongType, "children[0]", 13),
    Case(#"{"name":"\ud800"}"#, .loneSurrogate, "name", 9),
    Case(#"{"name":"a\udc00b"}"#, .loneSurrogate, "name", 10),
    Case(#"{"name":"\ud800\u0041"}"#, .loneSurrogate, "name", 9),
    Case(#"{"name":"\q"}"#, .syntax, "name", 9),
    Case(#"{"name":"\u12g4"}"#, .syntax, "name", 9),
    Case("{\"name\":\"a\nb\"}", .syntax, "name", 10),
    Case(#"{"name":"a"} x"#, .trailingBytes, "", 13),
    Case(#"{"name":"a""#, .syntax, "name", 11),
    Case(#"{"name":"a"#, .syntax, "name", 8),
    Case(#"{"name" "a"}"#, .syntax, "name", 8),
    Case(#"{name:"a"}"#, .syntax, "", 1),
    Case(#"{"name":"a",}"#, .syntax, "", 12),
    Case("", .syntax, "", 0),
    Case("null", .wrongType, "", 0),
    Case("[]", .wrongType, "", 0),
  ])
  func reportsCodePathAndOffset(_ example: Case) throws {
    let error = try #require(Self.failure(Tree.self, example.json))
    #expect(error.code == example.code)
    #expect(error.fieldPath == example.path)
    #expect(error.byteOffset == example.offset)
    #expect(error.message.contains("at byte \(example.offset)"))
  }

  @Test(
    arguments: [
      [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
      [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22],
      [0x22, 0xE2, 0x82, 0x22], [0x22, 0xF0, 0x9F, 0x94, 0x22], [0x22, 0x80, 0x22],
      [0x22, 0xF8, 0x88, 0x80, 0x80, 0x80, 0x22],
    ] as [[UInt8]])
  func rejectsInvalidUTF8(_ string: [UInt8]) {
    for text in [
      Array(#"{"name":"#.utf8) + string + [0x7D], [0x7B] + string + Array(":1}".utf8),
      Array(#"{"nope":["#.utf8) + string + Array("]}".utf8),
    ] {
      let error = #expect(throws: ProtoJSONError.self) { try Tree(jsonUTF8: text) }
      #expect(error?.code == .invalidUTF8)
    }
  }

  @Test func limitsDepth() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: #"{"child":"#, count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)
    }
    _ = try Tree(jsonString: nested(64))
    #expect(Self.failure(Tree.self, nested(65))?.code == .depthExceeded)
    #expect(Self.failure(Tree.self, nested(4), .init(maxDepth: 3))?.code == .depthExceeded)
    #expect(Self.failure(Tree.self, "{}", .init(maxDepth: 0))?.code == .depthExceeded)
    let unknown = #"{"nope":"# + String(repeating: "[", count: 10_000)
    #expect(Self.failure(Tree.self, unknown)?.code == .depthExceeded)
    let value = #"{"value":"# + String(repeating: "[", count: 10_000)
    let error = try #require(Self.failure(WellKnown.self, value))
    #expect(error.code == .depthExceeded)
    #expect(error.fieldPath.utf8.count < 1000)
  }

  @Test func truncatesLongKeysInPaths() throws {
    let error = try #require(Self.failure(Tree.self, "{\"\(String(repeating: "k", count: 5000))\":[1,]}"))
    #expect(error.code == .syntax)
    #expect(error.fieldPath.utf8.count < 200)
  }

  @Test func neverTrapsOnPrefixesAndFlippedBytes() {
    let json = Array(
      #"{"name":"né\u00e9\n","child":{"children":[{},{"trunk":{"length":-12}}]},"byName":{"k":{"name":"v"}},"linked":{}}"#
        .utf8)
    var refused = 0
    for index in json.indices {
      if (try? Tree(jsonUTF8: Array(json[..<index]))) == nil { refused += 1 }
      for byte in UInt8.min...(.max) {
        var changed = json
        changed[index] = byte
        _ = try? Tree(jsonUTF8: changed)
      }
    }
    #expect(refused == json.count)
  }
}
