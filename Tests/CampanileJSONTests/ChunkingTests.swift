import CampanileJSON
import Testing

/// Validation in chunks: verdict, position and message do not depend on where a text is cut.
@Suite struct ChunkingTests {
  @Test("all cuts of short texts into two or three chunks, or into bytes, give the same verdict")
  func everyCut() throws {
    let texts = [
      #"{"a":[1.5e-3,true,"\u00e9\uD83D\uDE80é🚀",null]}"#, #"[-0.5E+7,false,{"":""}]"#,
      #"["\uD800x", 12345, {"k":[]}]"#, #"{"\u00e9\uD83D\uDE80":0,"é🚀":1}"#,
      "[1,2", #"["\u12"]"#, "[1.5.5]", "[tru]", "[\"\u{1F}\"]", "{\"a\":1,}", " 1e5 ", "1e", "\"🚀",
    ]
    for text in texts.map({ Array($0.utf8) }) + [[0x22, 0xE2, 0x82, 0x22], [0x22, 0xF0, 0x9F, 0x9A, 0xFF, 0x22]] {
      for limits in [JSONLimits(), JSONLimits(duplicateNames: .report, loneSurrogates: .reject)] {
        let whole = try validate(text, limits: limits)
        #expect(
          try validate(text, chunks: [Int](repeating: 1, count: text.count), limits: limits, saving: true) == whole)
        for first in 0...text.count {
          #expect(try validate(text, chunks: [first], limits: limits, saving: true) == whole)
          for second in 1..<max(2, text.count - first) {
            #expect(try validate(text, chunks: [first, second], limits: limits) == whole)
          }
        }
      }
    }
  }

  @Test("random chunks of longer and broken texts give the same verdict, also if saved and restored between them")
  func randomCuts() throws {
    var random = Random(7)
    for seed in 0..<400 {
      var generator = TextGenerator(seed: UInt64(seed))
      var bytes = Array(generator.text(depth: 5).utf8)
      if seed % 2 == 1 { bytes = mutated(bytes, &random) }
      for limits in [JSONLimits(), JSONLimits(duplicateNames: .report, loneSurrogates: .reject)] {
        let whole = try validate(bytes, limits: limits)
        #expect(try validate(bytes, chunks: [Int](repeating: 1, count: bytes.count), limits: limits) == whole)
        for limit in [3, 70, 200] {
          let chunks = random.chunks(of: bytes.count, upTo: limit)
          #expect(try validate(bytes, chunks: chunks, limits: limits, saving: limit == 70) == whole, "\(seed)")
        }
      }
    }
  }

  @Test("the summary has the size of the text and the kind of its value")
  func summary() throws {
    for (text, kind) in [
      ("{}", JSONSummary.Kind.object), (" []", .array), ("\"\"", .string), ("-1", .number), ("true", .bool),
      ("null", .null),
    ] {
      for bytes in [Array(text.utf8), Array((text + String(repeating: " ", count: 100)).utf8)] {
        guard case .valid(let summary) = try validate(bytes) else {
          Issue.record("\(text)")
          continue
        }
        #expect(summary.topLevelKind == kind)
        #expect(summary.sizeBytes == Int64(bytes.count))
      }
    }
  }

  @Test("a damaged state is refused or continued, but never traps")
  func damagedStates() throws {
    var random = Random(11)
    let text = Array(#"{"a":[{"b":"x\u00e9"},1.5,true],"c":{"d":"#.utf8)
    for cut in 0..<text.count {
      for limits in [JSONLimits(), JSONLimits(duplicateNames: .report)] {
        var validator = JSONValidator(limits: limits)
        try text[..<cut].withUnsafeBytes { try validator.update($0) }
        let state = validator.state
        for _ in 0..<40 {
          var damaged = state
          for _ in 0..<(1 + random.below(3)) { damaged[random.below(damaged.count)] = UInt8(random.below(256)) }
          if random.chance(20) { damaged.removeLast(random.below(damaged.count)) }
          guard var restored = try? JSONValidator(state: damaged) else { continue }
          let rest = Array(text[cut...]) + Array("1}}, \"\\u12\"]".utf8)
          _ = try? rest.withUnsafeBytes { try restored.update($0) }
          _ = try? restored.finish()
          _ = restored.state
        }
      }
    }
    #expect(throws: JSONStateError.self) { try JSONValidator(state: []) }
    #expect(throws: JSONStateError.self) { try JSONValidator(state: [9, 1]) }
  }
}
