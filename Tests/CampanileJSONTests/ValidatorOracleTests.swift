import CampanileJSON
import TestSupport
import Testing

/// A comparison with Python's `json` and `orjson` on the same texts.
@Suite struct ValidatorOracleTests {
  /// Python's own parser is strict except for NaN and Infinity. orjson also refuses lone surrogates and numbers that do
  /// not fit a double.
  private static let script = #"""
    import json, sys, orjson
    def refuse(name): raise ValueError(name)
    for line in open(sys.argv[1]):
        text = bytes.fromhex(line.strip())
        try:
            json.loads(text.decode("utf-8"), parse_constant=refuse, parse_int=str, parse_float=str)
            own = True
        except ValueError:
            own = False
        try:
            orjson.loads(text)
            other = True
        except orjson.JSONDecodeError:
            other = False
        print(int(own), int(other))
    """#

  @Test("verdicts on thousands of random and mutated texts are the same")
  func randomTexts() throws {
    var random = Random(42)
    var texts: [[UInt8]] = []
    for seed in 0..<1500 {
      var generator = TextGenerator(seed: UInt64(seed) &+ 1_000_000)
      let text = Array(generator.text().utf8)
      texts.append(text)
      for _ in 0..<3 { texts.append(mutated(text, &random)) }
    }
    texts.removeAll(where: \.isEmpty)
    let answers = try ExternalProgram.python(Self.script, lines: texts.map(hexadecimal))
    try #require(answers.count == texts.count)
    var accepted = 0
    for (text, answer) in zip(texts, answers) {
      let verdict = try validate(text, chunks: random.chunks(of: text.count, upTo: 150))
      accepted += verdict.isValid ? 1 : 0
      #expect(verdict.isValid == answer.hasPrefix("1"), "\(String(decoding: text, as: UTF8.self)): \(verdict)")
      let strict = try validate(text, limits: .init(loneSurrogates: .reject))
      let isNumberTooBig = !answer.hasSuffix("1") && strict.isValid && text.contains { $0 | 0x20 == UInt8(ascii: "e") }
      #expect(
        strict.isValid == answer.hasSuffix("1") || isNumberTooBig, "\(String(decoding: text, as: UTF8.self)): \(strict)"
      )
    }
    #expect(accepted > 1500 && accepted < texts.count - 1500)
  }

  @Test("Python reads the same value from a text and from its serialised value")
  func values() throws {
    let script = #"""
      import json, sys
      for line in open(sys.argv[1]):
          a, b = (json.loads(bytes.fromhex(part)) for part in line.split())
          print(int(json.dumps(a) == json.dumps(b)))
      """#
    var lines: [String] = []
    for seed in 0..<1000 {
      var generator = TextGenerator(seed: UInt64(seed) &+ 2_000_000)
      let text = Array(generator.text().utf8)
      lines.append(hexadecimal(text) + " " + hexadecimal(try JSONValue.parse(text).serialised()))
    }
    let answers = try ExternalProgram.python(script, lines: lines)
    #expect(answers == [String](repeating: "1", count: lines.count))
  }
}
