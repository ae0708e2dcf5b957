import CampanileJSON
import Testing

/// RFC 6902, section by section, and its appendix A.
@Suite struct PatchTests {
  private func apply(_ patch: String, _ document: String, _ limits: JSONPatch.Limits = .init()) throws -> String {
    let patch = try JSONPatch.parse(Array(patch.utf8), limits: limits)
    let result = try patch.apply(to: JSONValue.parse(document), limits: limits)
    return String(decoding: result.serialised(), as: UTF8.self)
  }

  private func error(_ patch: String, _ document: String, _ limits: JSONPatch.Limits = .init()) -> JSONPatchError? {
    do {
      _ = try apply(patch, document, limits)
      return nil
    } catch {
      return error as? JSONPatchError
    }
  }

  @Test("section 3: an array of objects")
  func document() throws {
    #expect(try apply("[]", "1") == "1")
    for patch in ["{}", "1", "null", "\"\"", "[1]", "[[]]", "[null]", "[", ""] {
      #expect(error(patch, "{}")?.code == .invalidPatch, "\(patch)")
    }
  }

  @Test("section 4: op, path and the members that the operation needs; other members are ignored")
  func members() throws {
    for patch in [
      #"[{}]"#, #"[{"op":"add","value":1}]"#, #"[{"path":"/a"}]"#, #"[{"op":"spam","path":"/a"}]"#,
      #"[{"op":1,"path":"/a"}]"#,
      #"[{"op":"add","path":"/a"}]"#, #"[{"op":"replace","path":""}]"#, #"[{"op":"test","path":""}]"#,
      #"[{"op":"move","path":"/a"}]"#,
      #"[{"op":"copy","path":"/a"}]"#, #"[{"op":"copy","path":"/a","from":1}]"#, #"[{"op":"remove","path":"a"}]"#,
      #"[{"op":"remove","path":"/~2"}]"#, #"[{"op":"move","path":"/a","from":"b"}]"#, #"[{"op":"remove","path":null}]"#,
      #"[{"op":"ADD","path":"","value":1}]"#,
    ] {
      #expect(error(patch, #"{"a":1}"#)?.code == .invalidPatch, "\(patch)")
    }
    let second = error(#"[{"op":"test","path":"/a","value":1},{"op":"add","path":"/b"}]"#, #"{"a":1}"#)
    #expect(second?.operationIndex == 1)
    #expect(second?.path == "/b")
    #expect(try apply(#"[{"value":2,"x":0,"path":"/a","op":"add"}]"#, "{}") == #"{"a":2}"#)
  }

  @Test("section 4.1: add")
  func add() throws {
    #expect(try apply(#"[{"op":"add","path":"","value":[1]}]"#, "{}") == "[1]")
    #expect(try apply(#"[{"op":"add","path":"/a","value":2}]"#, #"{"a":1,"b":0}"#) == #"{"a":2,"b":0}"#)
    #expect(try apply(#"[{"op":"add","path":"/0","value":0}]"#, "[1]") == "[0,1]")
    #expect(try apply(#"[{"op":"add","path":"/1","value":0}]"#, "[1]") == "[1,0]")
    #expect(try apply(#"[{"op":"add","path":"/-","value":0}]"#, "[1]") == "[1,0]")
    #expect(try apply(#"[{"op":"add","path":"/a~1b/~0","value":0}]"#, #"{"a/b":{}}"#) == #"{"a/b":{"~":0}}"#)
    #expect(error(#"[{"op":"add","path":"/2","value":0}]"#, "[1]")?.code == .invalidIndex)
    #expect(error(#"[{"op":"add","path":"/01","value":0}]"#, "[1]")?.code == .invalidIndex)
    #expect(error(#"[{"op":"add","path":"/x","value":0}]"#, "[1]")?.code == .invalidIndex)
    #expect(error(#"[{"op":"add","path":"/a/b","value":0}]"#, #"{"q":{"a":2}}"#)?.code == .notFound)
    #expect(error(#"[{"op":"add","path":"/a/b","value":0}]"#, #"{"a":1}"#)?.code == .notFound)
  }

  @Test("section 4.2: remove")
  func remove() throws {
    #expect(try apply(#"[{"op":"remove","path":"/a"}]"#, #"{"a":1,"b":2}"#) == #"{"b":2}"#)
    #expect(try apply(#"[{"op":"remove","path":"/1"}]"#, "[1,2,3]") == "[1,3]")
    #expect(try apply(#"[{"op":"remove","path":"/a"}]"#, #"{"a":1,"a":2}"#) == "{}")
    #expect(error(#"[{"op":"remove","path":"/c"}]"#, #"{"a":1}"#)?.code == .notFound)
    #expect(error(#"[{"op":"remove","path":"/3"}]"#, "[1,2,3]")?.code == .invalidIndex)
    #expect(error(#"[{"op":"remove","path":"/-"}]"#, "[1,2,3]")?.code == .invalidIndex)
  }

  @Test("section 4.3: replace")
  func replace() throws {
    #expect(try apply(#"[{"op":"replace","path":"/a","value":[]}]"#, #"{"a":1}"#) == #"{"a":[]}"#)
    #expect(try apply(#"[{"op":"replace","path":"","value":null}]"#, #"{"a":1}"#) == "null")
    #expect(try apply(#"[{"op":"replace","path":"/0/x","value":2}]"#, #"[{"x":1}]"#) == #"[{"x":2}]"#)
    #expect(error(#"[{"op":"replace","path":"/b","value":0}]"#, #"{"a":1}"#)?.code == .notFound)
    #expect(error(#"[{"op":"replace","path":"/1","value":0}]"#, "[1]")?.code == .invalidIndex)
  }

  @Test("section 4.4: move, never into its own child")
  func move() throws {
    #expect(try apply(#"[{"op":"move","from":"/a","path":"/b/0"}]"#, #"{"a":1,"b":[2]}"#) == #"{"b":[1,2]}"#)
    #expect(try apply(#"[{"op":"move","from":"/0","path":"/2"}]"#, "[1,2,3]") == "[2,3,1]")
    #expect(try apply(#"[{"op":"move","from":"/a","path":"/a"}]"#, #"{"a":1}"#) == #"{"a":1}"#)
    #expect(error(#"[{"op":"move","from":"/a","path":"/a/b"}]"#, #"{"a":{"b":1}}"#)?.code == .moveIntoChild)
    #expect(error(#"[{"op":"move","from":"","path":"/a"}]"#, #"{"a":1}"#)?.code == .moveIntoChild)
    #expect(error(#"[{"op":"move","from":"/x","path":"/x"}]"#, #"{"a":1}"#)?.code == .notFound)
    #expect(try apply(#"[{"op":"move","from":"/a","path":"/ab"}]"#, #"{"a":1}"#) == #"{"ab":1}"#)
  }

  @Test("section 4.5: copy")
  func copy() throws {
    #expect(try apply(#"[{"op":"copy","from":"/a","path":"/b"}]"#, #"{"a":[1]}"#) == #"{"a":[1],"b":[1]}"#)
    #expect(try apply(#"[{"op":"copy","from":"","path":"/b"}]"#, #"{"a":1}"#) == #"{"a":1,"b":{"a":1}}"#)
    #expect(error(#"[{"op":"copy","from":"/x","path":"/b"}]"#, #"{"a":1}"#)?.code == .notFound)
    #expect(error(#"[{"op":"copy","from":"/-","path":"/0"}]"#, "[1]")?.code == .invalidIndex)
  }

  @Test("section 4.6: test compares values, not their texts")
  func test() throws {
    for (document, value) in [
      ("1", "1.0"), (#"{"a":1,"b":[]}"#, #"{"b":[],"a":1}"#), (#""\u0061""#, #""a""#), ("null", "null"),
    ] {
      #expect(error("[{\"op\":\"test\",\"path\":\"\",\"value\":\(value)}]", document) == nil)
    }
    for (document, value) in [("1", "\"1\""), ("[1,2]", "[2,1]"), ("{}", "[]"), ("null", "false")] {
      #expect(error("[{\"op\":\"test\",\"path\":\"\",\"value\":\(value)}]", document)?.code == .testFailed)
    }
  }

  @Test("section 5: operations apply in order, all or none, and the first failure is reported")
  func atomic() throws {
    let patch =
      #"[{"op":"add","path":"/b","value":1},{"op":"test","path":"/b","value":1},{"op":"remove","path":"/zz"},{"op":"remove","path":"/yy"}]"#
    let failure = try #require(error(patch, #"{"a":1}"#))
    #expect(failure.operationIndex == 2)
    #expect(failure.path == "/zz")
    #expect(failure.code == .notFound)
    #expect(failure.description == #"JSON_PATCH_NOT_FOUND: operation 2 at "/zz": there is no "/zz""#)
  }

  /// Appendix A: number, patch, document, result; nil if the patch fails.
  static let appendix: [(String, String, String, String?)] = [
    ("A.1", #"[{"op":"add","path":"/baz","value":"qux"}]"#, #"{"foo":"bar"}"#, #"{"baz":"qux","foo":"bar"}"#),
    (
      "A.2", #"[{"op":"add","path":"/foo/1","value":"qux"}]"#, #"{"foo":["bar","baz"]}"#,
      #"{"foo":["bar","qux","baz"]}"#
    ),
    ("A.3", #"[{"op":"remove","path":"/baz"}]"#, #"{"baz":"qux","foo":"bar"}"#, #"{"foo":"bar"}"#),
    ("A.4", #"[{"op":"remove","path":"/foo/1"}]"#, #"{"foo":["bar","qux","baz"]}"#, #"{"foo":["bar","baz"]}"#),
    (
      "A.5", #"[{"op":"replace","path":"/baz","value":"boo"}]"#, #"{"baz":"qux","foo":"bar"}"#,
      #"{"baz":"boo","foo":"bar"}"#
    ),
    (
      "A.6", #"[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]"#,
      #"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
      #"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#
    ),
    (
      "A.7", #"[{"op":"move","from":"/foo/1","path":"/foo/3"}]"#, #"{"foo":["all","grass","cows","eat"]}"#,
      #"{"foo":["all","cows","eat","grass"]}"#
    ),
    (
      "A.8", #"[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]"#,
      #"{"baz":"qux","foo":["a",2,"c"]}"#,
      #"{"baz":"qux","foo":["a",2,"c"]}"#
    ),
    ("A.9", #"[{"op":"test","path":"/baz","value":"bar"}]"#, #"{"baz":"qux"}"#, nil),
    (
      "A.10", #"[{"op":"add","path":"/child","value":{"grandchild":{}}}]"#, #"{"foo":"bar"}"#,
      #"{"foo":"bar","child":{"grandchild":{}}}"#
    ),
    (
      "A.11", #"[{"op":"add","path":"/baz","value":"qux","xyz":123}]"#, #"{"foo":"bar"}"#, #"{"foo":"bar","baz":"qux"}"#
    ),
    ("A.12", #"[{"op":"add","path":"/baz/bat","value":"qux"}]"#, #"{"foo":"bar"}"#, nil),
    ("A.13", #"[{"op":"add","path":"/baz","value":"qux","op":"remove"}]"#, #"{"foo":"bar"}"#, nil),
    ("A.14", #"[{"op":"test","path":"/~01","value":10}]"#, #"{"/":9,"~1":10}"#, #"{"/":9,"~1":10}"#),
    ("A.15", #"[{"op":"test","path":"/~01","value":"10"}]"#, #"{"/":9,"~1":10}"#, nil),
    (
      "A.16", #"[{"op":"add","path":"/foo/-","value":["abc","def"]}]"#, #"{"foo":["bar"]}"#,
      #"{"foo":["bar",["abc","def"]]}"#
    ),
  ]

  @Test(arguments: appendix)
  func appendixA(name: String, patch: String, document: String, result: String?) throws {
    guard let result else {
      #expect(error(patch, document) != nil)
      return
    }
    #expect(try JSONValue.parse(apply(patch, document)) == JSONValue.parse(result))
  }

  @Test("limits: operations, depth, added bytes, work")
  func limits() throws {
    let copies = "[" + (0..<60).map { _ in #"{"op":"copy","from":"","path":"/-"}"# }.joined(separator: ",") + "]"
    let doubled = try #require(error(copies, "[1]"))
    #expect(doubled.code == .limitExceeded)
    let array = "[" + (0..<60).map { _ in #"{"op":"copy","from":"/a","path":"/a/-"}"# }.joined(separator: ",") + "]"
    #expect(error(array, #"{"a":["0123456789"]}"#)?.code == .limitExceeded)
    let nested = "[" + (0..<600).map { _ in #"{"op":"copy","from":"","path":"/a"}"# }.joined(separator: ",") + "]"
    #expect(error(nested, "{}")?.code == .limitExceeded)
    #expect(
      error(
        "[" + String(repeating: #"{"op":"remove","path":"/a"},"#, count: 3).dropLast() + "]", "{}",
        .init(operationsMax: 2))?.code == .limitExceeded)
    #expect(error(#"[{"op":"add","path":"/a","value":[[]]}]"#, "{}", .init(depthMax: 2))?.code == .limitExceeded)
    #expect(error(#"[{"op":"add","path":"/a","value":[]}]"#, "{}", .init(depthMax: 2)) == nil)
    #expect(
      error(#"[{"op":"add","path":"/a","value":"0123456789"}]"#, "{}", .init(addedBytesMax: 11))?.code == .limitExceeded
    )
    let members = "{" + (0..<1000).map { "\"\($0)\":0" }.joined(separator: ",") + "}"
    let tests = "[" + (0..<100).map { _ in #"{"op":"test","path":"/999","value":0}"# }.joined(separator: ",") + "]"
    #expect(error(tests, members, .init(workMax: 50_000))?.code == .limitExceeded)
    #expect(error(tests, members) == nil)
  }
}
