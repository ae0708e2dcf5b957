import CampanileJSON
import TestSupport
import Testing

/// JSON Merge Patch, RFC 7396.
@Suite struct MergePatchTests {
  /// Appendix A: original, patch, result.
  static let appendix: [(String, String, String)] = [
    (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
    (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
    (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#), (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
    (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
    (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
    (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#), (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
    (#"{"a":"foo"}"#, "null", "null"),
    (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
    ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
    ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
  ]

  @Test("appendix A, which is also the algorithm of section 2", arguments: appendix)
  func apply(original: String, patch: String, result: String) throws {
    let merged = JSONMergePatch(try JSONValue.parse(patch)).apply(to: try JSONValue.parse(original))
    #expect(String(decoding: merged.serialised(), as: UTF8.self) == result)
  }

  @Test("section 3: the example")
  func example() throws {
    let document =
      #"{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This will be unchanged"}"#
    let patch = #"{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}"#
    let result =
      #"{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","phoneNumber":"+01-123-456-7890"}"#
    let merged = JSONMergePatch(try JSONValue.parse(patch)).apply(to: try JSONValue.parse(document))
    #expect(String(decoding: merged.serialised(), as: UTF8.self) == result)
  }

  @Test("duplicate names: a patch merges each; a target changes its last one, or removes all")
  func duplicates() throws {
    func merge(_ target: String, _ patch: String) throws -> String {
      String(
        decoding: JSONMergePatch(try JSONValue.parse(patch)).apply(to: try JSONValue.parse(target)).serialised(),
        as: UTF8.self)
    }
    #expect(try merge("{}", #"{"a":1,"a":2}"#) == #"{"a":2}"#)
    #expect(try merge(#"{"a":{"x":1}}"#, #"{"a":null,"a":{"y":2}}"#) == #"{"a":{"y":2}}"#)
    #expect(try merge(#"{"a":{"x":1}}"#, #"{"a":{"y":2},"a":null}"#) == "{}")
    #expect(try merge(#"{"a":1,"b":0,"a":2}"#, #"{"a":3}"#) == #"{"a":1,"b":0,"a":3}"#)
    #expect(try merge(#"{"a":1,"b":0,"a":2}"#, #"{"\u0061":null}"#) == #"{"b":0}"#)
  }

  @Test("the diff is nil if a merge patch cannot express it (section 1)")
  func diff() throws {
    let none: [(String, String)] = [
      ("{}", #"{"a":null}"#), (#"{"a":1}"#, #"{"a":null}"#), ("1", #"{"a":{"b":null}}"#), ("{}", #"{"a":{"b":null}}"#),
      (#"{"a":1,"a":2}"#, #"{"a":2}"#),
      ("{}", #"{"a":1,"a":2}"#), ("{}", #"{"a":{"b":1,"b":2}}"#),
    ]
    for (old, new) in none {
      #expect(try JSONMergePatch.diff(from: JSONValue.parse(old), to: JSONValue.parse(new)) == nil, "\(old) \(new)")
    }
    let some: [(String, String, String)] = [
      ("{}", "{}", "{}"), (#"{"a":null}"#, #"{"a":null,"b":1}"#, #"{"b":1}"#),
      (#"{"a":1,"b":{"c":1,"d":2}}"#, #"{"b":{"c":1}}"#, #"{"a":null,"b":{"d":null}}"#),
      ("{}", #"{"a":[null]}"#, #"{"a":[null]}"#), (#"{"a":1}"#, "null", "null"),
      (#"{"a":[1,2]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
    ]
    for (old, new, patch) in some {
      let found = try #require(JSONMergePatch.diff(from: try JSONValue.parse(old), to: try JSONValue.parse(new)))
      #expect(String(decoding: found.document.serialised(), as: UTF8.self) == patch)
    }
  }

  @Test("random documents are merged as in Python")
  func randomDocuments() throws {
    let script = #"""
      import json, sys, json_merge_patch
      for line in open(sys.argv[1]):
          target, patch = (json.loads(bytes.fromhex(part)) for part in line.split())
          print(json.dumps(json_merge_patch.merge(target, patch), sort_keys=True, separators=(",", ":")))
      """#
    var lines: [String] = []
    var own: [JSONValue] = []
    var expressible = 0
    for seed in 0..<1500 {
      var generator = TextGenerator(seed: UInt64(seed) &+ 5_000_000, isVaried: false)
      let (old, new) = (generator.object(3), generator.object(3))
      let (target, patch) = (try JSONValue.parse(old), try JSONValue.parse(new))
      lines.append(hexadecimal(Array(old.utf8)) + " " + hexadecimal(Array(new.utf8)))
      own.append(JSONMergePatch(patch).apply(to: target))
      guard let diff = JSONMergePatch.diff(from: target, to: patch) else { continue }
      expressible += 1
      #expect(diff.apply(to: target) == patch)
    }
    #expect(expressible > 300)
    let answers = try ExternalProgram.python(script, lines: lines)
    try #require(answers.count == own.count)
    for (answer, value) in zip(answers, own) { #expect(try JSONValue.parse(answer) == value) }
  }
}
