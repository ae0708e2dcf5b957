import CampanileJSON
import TestSupport
import Testing

@Suite struct PatchDiffTests {
  private func diff(_ old: String, _ new: String) throws -> String {
    let (old, new) = (try JSONValue.parse(old), try JSONValue.parse(new))
    let patch = JSONPatch.diff(from: old, to: new)
    #expect(try patch.apply(to: old) == new)
    #expect(try JSONPatch(patch.document) == patch)
    return String(decoding: patch.serialised(), as: UTF8.self)
  }

  @Test func smallChangesGiveSmallPatches() throws {
    #expect(try diff(#"{"a":1}"#, #"{"a":1.0}"#) == "[]")
    #expect(try diff("1", "2") == #"[{"op":"replace","path":"","value":2}]"#)
    #expect(
      try diff(
        #"{"a":1,"b":"0123456789012345678901234567890123456789"}"#, #"{"b":"0123456789012345678901234567890123456789"}"#
      ) == #"[{"op":"remove","path":"/a"}]"#)
    let long = String(repeating: "x", count: 200)
    #expect(try diff("[\"\(long)\",1,2,3]", "[\"\(long)\",1,3]") == #"[{"op":"remove","path":"/2"}]"#)
    #expect(try diff("[\"\(long)\",1]", "[0,\"\(long)\",1]") == #"[{"op":"add","path":"/0","value":0}]"#)
    #expect(
      try diff("{\"a/b\":{\"~\":[\"\(long)\",1]}}", "{\"a/b\":{\"~\":[\"\(long)\",2]}}")
        == #"[{"op":"replace","path":"/a~1b/~0/1","value":2}]"#)
  }

  private static func record(_ id: Int, _ body: String = "b") -> String {
    "{\"id\":\"n\(id)\",\"title\":\"title of \(id)\",\"body\":\"\(body) \(String(repeating: "x", count: 100))\",\"actions\":[]}"
  }

  @Test("records are matched by id: a new, removed, moved or changed record costs a single operation")
  func records() throws {
    let ids = Array(0..<50)
    func document(_ ids: [Int], changed: Int = -1) -> String {
      "{\"notifications\":[" + ids.map { Self.record($0, $0 == changed ? "c" : "b") }.joined(separator: ",") + "]}"
    }
    let old = document(ids)
    #expect(try diff(old, document([99] + ids)).contains(#""op":"add","path":"/notifications/0""#))
    #expect(try diff(old, document(Array(ids.dropFirst()))) == #"[{"op":"remove","path":"/notifications/0"}]"#)
    #expect(try diff(old, document(ids.filter { $0 != 20 })) == #"[{"op":"remove","path":"/notifications/20"}]"#)
    #expect(
      try diff(old, document(Array(ids.dropFirst()) + [0]))
        == #"[{"op":"move","from":"/notifications/0","path":"/notifications/49"}]"#)
    #expect(
      try diff(old, document([49] + ids.dropLast()))
        == #"[{"op":"move","from":"/notifications/49","path":"/notifications/0"}]"#)
    #expect(try diff(old, document(ids, changed: 7)).hasPrefix(#"[{"op":"replace","path":"/notifications/7/body""#))
    #expect(try diff(old, document(ids, changed: 7)).utf8.count < 200)
  }

  @Test("too many moves, or values that share nothing, become a replacement")
  func fallbacks() throws {
    let old = "[" + (0..<300).map { "{\"id\":\($0)}" }.joined(separator: ",") + "]"
    let new = "[" + (0..<300).reversed().map { "{\"id\":\($0)}" }.joined(separator: ",") + "]"
    #expect(try diff(old, new).hasPrefix(#"[{"op":"replace","path":"","value":[{"id":299}"#))
    #expect(try diff(#"{"a":[1,2,3,4]}"#, #"{"a":[5,6,7,8]}"#) == #"[{"op":"replace","path":"/a","value":[5,6,7,8]}]"#)
    #expect(try diff(#"{"a":1,"a":2}"#, #"{"a":1,"b":2}"#).contains("replace"))
    let numbers = "[" + (0..<2000).map { String($0 * 7919 % 2003) }.joined(separator: ",") + "]"
    let others = "[" + (0..<2000).map { String($0 * 104_729 % 2003) }.joined(separator: ",") + "]"
    _ = try diff(numbers, others)
  }

  @Test("random documents: applying the patch yields the new document, here and in Python")
  func randomDocuments() throws {
    let script = #"""
      import json, sys, jsonpatch
      for line in open(sys.argv[1]):
          old, new, patch = (json.loads(bytes.fromhex(part)) for part in line.split())
          result = jsonpatch.apply_patch(old, patch)
          print(int(json.dumps(result, sort_keys=True) == json.dumps(new, sort_keys=True)))
      """#
    var lines: [String] = []
    for seed in 0..<1500 {
      var generator = TextGenerator(seed: UInt64(seed) &+ 3_000_000, isVaried: false)
      let pair = generator.pair()
      let (old, new) = (try JSONValue.parse(pair.0), try JSONValue.parse(pair.1))
      let patch = JSONPatch.diff(from: old, to: new, limits: seed % 5 == 0 ? .init(cellsMax: 4, movesMax: 1) : .init())
      #expect(try patch.apply(to: old) == new, "\(pair)")
      lines.append(
        [Array(pair.0.utf8), Array(pair.1.utf8), patch.serialised()].map(hexadecimal).joined(separator: " "))
    }
    let answers = try ExternalProgram.python(script, lines: lines)
    #expect(answers == [String](repeating: "1", count: lines.count))
  }

  @Test("random operations have the same results as in Python, and fail in the same cases")
  func randomOperations() throws {
    let script = #"""
      import json, sys, jsonpatch, jsonpointer
      for line in open(sys.argv[1]):
          document, patch = (json.loads(bytes.fromhex(part)) for part in line.split())
          try:
              print(json.dumps(jsonpatch.apply_patch(document, patch), sort_keys=True, separators=(",", ":")).encode().hex())
          except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError, KeyError, IndexError):
              print("failed")
      """#
    var lines: [String] = []
    var own: [JSONValue?] = []
    for seed in 0..<2000 {
      var generator = TextGenerator(seed: UInt64(seed) &+ 4_000_000, isVaried: false)
      let document = generator.object(3)
      let patch =
        "[" + (0..<(1 + generator.random.below(3))).map { _ in generator.operation() }.joined(separator: ",") + "]"
      lines.append(hexadecimal(Array(document.utf8)) + " " + hexadecimal(Array(patch.utf8)))
      own.append(try? JSONPatch.parse(Array(patch.utf8)).apply(to: JSONValue.parse(document)))
    }
    let answers = try ExternalProgram.python(script, lines: lines)
    try #require(answers.count == lines.count)
    var applied = 0
    for (index, answer) in answers.enumerated() {
      guard answer != "failed" else {
        #expect(own[index] == nil, "\(index)")
        continue
      }
      applied += 1
      let expected = try JSONValue.parse(bytes(answer))
      #expect(own[index] == expected, "\(index)")
    }
    #expect(applied > 200 && applied < 1900)
  }
}

private func bytes(_ hexadecimal: String) -> [UInt8] {
  let digits = Array(hexadecimal.utf8)
  return stride(from: 0, to: digits.count, by: 2).compactMap {
    UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)
  }
}

extension TextGenerator {
  /// A document and a later version of it, with records added, removed, moved and changed.
  mutating func pair() -> (String, String) {
    if random.chance(40) { return (text(), text()) }
    var ids = Array(0..<random.below(12))
    var bodies = ids.map { _ in value(2) }
    func document(_ ids: [Int], _ bodies: [String], _ other: String) -> String {
      "{\"list\":[" + ids.map { "{\"id\":\($0),\"v\":\(bodies[$0])}" }.joined(separator: ",") + "],\"other\":\(other)}"
    }
    let other = text()
    let old = document(ids, bodies, other)
    for _ in 0..<random.below(4) {
      switch random.below(4) {
      case 0: ids.shuffle(using: &random)
      case 1: if !ids.isEmpty { ids.remove(at: random.below(ids.count)) }
      case 2:
        ids.insert(bodies.count, at: random.below(ids.count + 1))
        bodies.append(value(2))
      default: if !bodies.isEmpty { bodies[random.below(bodies.count)] = value(2) }
      }
    }
    return (old, document(ids, bodies, random.chance(50) ? other : text()))
  }

  /// One operation, which may be invalid for the document.
  mutating func operation() -> String {
    let (path, from) = (pointer(), pointer())
    switch random.below(5) {
    case 0: return "{\"op\":\"add\",\"path\":\"\(path)\",\"value\":\(value(1))}"
    case 1: return "{\"op\":\"remove\",\"path\":\"\(path)\"}"
    case 2: return "{\"op\":\"replace\",\"path\":\"\(path)\",\"value\":\(value(1))}"
    case 3: return "{\"op\":\"copy\",\"from\":\"\(from)\",\"path\":\"\(path)\"}"
    default:
      return from == path || path.hasPrefix(from + "/")
        ? "{\"op\":\"test\",\"path\":\"\(path)\",\"value\":1}"
        : "{\"op\":\"move\",\"from\":\"\(from)\",\"path\":\"\(path)\"}"
    }
  }

  private mutating func pointer() -> String {
    var text = ""
    for _ in 0..<(random.chance(70) ? 1 : 2) {
      text += "/" + (random.chance(80) ? "k\(random.below(2))\(1 + random.below(3))" : String(random.below(3)))
    }
    return text
  }
}
