import TestSupport
import Testing

@testable import CampanileJSON

@Suite struct NameHashTests {
  /// The published vectors are for SipHash-2-4, so SipHash-1-3 is compared with Python's own `hash` of bytes.
  @Test("SipHash-1-3 equals Python's, in any pieces")
  func python() throws {
    let script = #"""
      import subprocess, sys
      code = "import sys\nfor line in open(sys.argv[1]):\n  print(hash(bytes.fromhex(line.strip())) & (2**64 - 1))"
      if sys.hash_info.algorithm != "siphash13": print("other")
      else: print(subprocess.run([sys.executable, "-c", code, sys.argv[1]], env={"PYTHONHASHSEED": "0"}, capture_output=True, text=True).stdout)
      """#
    var random = Random(23)
    let texts = (1..<200).map { length in (0..<length).map { _ in UInt8(random.below(256)) } }
    let answers = try ExternalProgram.python(script, lines: texts.map(hexadecimal))
    for (index, text) in texts.enumerated() {
      var bytewise = NameHash(key0: 0, key1: 0)
      for byte in text { bytewise.combine(byte) }
      for limit in [1, 7, 8, 50, 300] {
        var piecewise = NameHash(key0: 0, key1: 0)
        var rest = text[...]
        for size in random.chunks(of: text.count, upTo: limit) {
          rest.prefix(size).withUnsafeBytes { piecewise.combine($0) }
          rest = rest.dropFirst(size)
        }
        #expect(piecewise.value == bytewise.value)
      }
      // Seed 0 makes Python's key zero; versions before 3.11 use another function.
      if answers.count == texts.count { #expect(String(bytewise.value) == answers[index]) }
    }
    #expect(answers.count == texts.count || answers == ["other"])
  }

  @Test("short names are the same in any pieces")
  func shortNames() {
    var random = Random(24)
    for length in 0..<40 {
      let text = (0..<length).map { _ in UInt8(97 + random.below(26)) }
      let whole = ShortName(String(decoding: text, as: UTF8.self))
      for limit in [1, 5, 8, 16, 40] {
        var name = ShortName()
        var rest = text[...]
        for size in random.chunks(of: text.count, upTo: limit) {
          rest.prefix(size).withUnsafeBytes { name.append($0) }
          rest = rest.dropFirst(size)
        }
        #expect(name == whole)
      }
    }
  }
}
