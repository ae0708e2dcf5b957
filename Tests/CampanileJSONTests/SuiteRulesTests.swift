import CampanileJSON
import Testing

/// The categories of the published suite of parsing tests: texts to accept (y), to refuse (n), and undefined ones (i).
@Suite struct SuiteRulesTests {
  static let accepted: [String] = [
    "[[]   ]", "[\"\"]", "[]", "[\"a\"]", "[false]", "[null, 1, \"1\", {}]", "[null]", "[1\n]", " [1]",
    "[1,null,null,null,2]",
    "[2] ", "[123e65]", "[0e+1]", "[0e1]", "[ 4]",
    "[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]",
    "[20e1]", "[-0]", "[-123]", "[-1]", "[-0]", "[1E22]", "[1E-2]", "[1E+2]", "[123e45]", "[123.456e78]", "[1e-2]",
    "[1e+2]",
    "[123]", "[123.456789]", "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}", "{\"asd\":\"sdf\"}", "{\"a\":\"b\",\"a\":\"c\"}",
    "{\"a\":\"b\",\"a\":\"b\"}",
    "{}", "{\"\":0}", "{\"foo\\u0000bar\": 42}", "{ \"min\": -1.0e+28, \"max\": 1.0e+28 }",
    "{\"x\":[{\"id\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}], \"id\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}",
    "{\"a\":[]}", "{\"title\":\"\\u041f\\u043e\" }", "{\n\"a\": \"b\"\n}", "[\"\\u0060\\u012a\\u12AB\"]",
    "[\"\\uD801\\udc37\"]",
    "[\"\\ud83d\\ude39\\ud83d\\udc8d\"]", "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[\"\\\\u0000\"]", "[\"\\\"\"]",
    "[\"a/*b*/c/*d//e\"]",
    "[\"\\\\a\"]", "[\"\\\\n\"]", "[\"\\u0012\"]", "[\"\\uFFFF\"]", "[\"asd\"]", "[ \"asd\"]", "[\"\\uDBFF\\uDFFF\"]",
    "[\"new\\u00A0line\"]",
    "[\"\u{10FFFF}\"]", "[\"\u{FFFF}\"]", "[\"\\u0000\"]", "[\"\\u002c\"]", "[\"π\"]", "[\"\u{1BFFF}\"]", "[\"asd \"]",
    "\" \"",
    "[\"\\uD834\\uDd1e\"]", "[\"\\u0821\"]", "[\"\\u0123\"]", "[\"\u{2028}\"]", "[\"\u{2029}\"]",
    "[\"\\u0061\\u30af\\u30EA\\u30b9\"]",
    "[\"new\\u000Aline\"]", "[\"\u{7F}\"]", "[\"\\uA66D\"]", "[\"\\u005C\"]", "[\"⍂㈴⍂\"]", "[\"\\u0022\"]",
    "[\"\\uDBFF\\uDFFE\"]",
    "[\"\\u200B\"]", "[\"\\u2064\"]", "[\"\\uFDD0\"]", "[\"\\uFFFE\"]", "[\"€𝄞\"]", "[\"aa\u{7F}\"]", "false", "42",
    "-0.1", "null",
    "\"asd\"", "true", "\"\"", "[\"a\"]\n", "[true]", " [] ",
  ]

  static let refused: [String] = [
    "[1 true]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[\"x\",,]", "[\"x\"]]", "[\"\",]", "[\"x\"", "[x", "[3[4]]",
    "[1:2]", "[,]", "[-]",
    "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,]", "[1,,]", "[\"\u{B}a\"\\f]", "[*]", "[\"\"", "[1,", "[1,\n1\n,1", "[{}",
    "[fals]", "[nul]",
    "[tru]", "123\0", "[++1234]", "[+1]", "[+Inf]", "[-01]", "[-1.0.]", "[-2.]", "[-NaN]", "[.-1]", "[.2e-3]",
    "[0.1.2]", "[0.3e+]",
    "[0.3e]", "[0.e1]", "[0E+]", "[0E]", "[0e+]", "[0e]", "[1.0e+]", "[1.0e-]", "[1.0e]", "[1 000.0]", "[1eE2]",
    "[2.e+3]", "[2.e-3]",
    "[2.e3]", "[9.e+]", "[Inf]", "[NaN]", "[１]", "[1+2]", "[0x1]", "[0x42]", "[Infinity]", "[0e+-1]", "[-123.123foo]",
    "[-Infinity]",
    "[-foo]", "[- 1]", "[-012]", "[-.123]", "[-1x]", "[1ea]", "[1.]", "[.123]", "[1.2a-3]", "[1.8011670033376514H-308]",
    "[012]",
    "[\"x\", truth]", "{[: \"x\"}", "{\"x\", null}", "{\"x\"::\"b\"}", "{🇨🇭}", "{\"a\":\"a\" 123}", "{key: 'value'}",
    "{\"a\" b}", "{:\"b\"}",
    "{\"a\" \"b\"}", "{\"a\":", "{\"a\"", "{1:1}", "{9999E9999:1}", "{null:null,null:null}", "{\"id\":0,,,,,}",
    "{'a':0}", "{\"id\":0,}",
    "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}/**//", "{\"a\":\"b\"}//", "{\"a\":\"b\"}/", "{\"a\":\"b\",,\"c\":\"d\"}",
    "{a: \"b\"}", "{\"a\":\"a",
    "{ \"foo\" : \"bar\", \"a\" }", "{\"a\":\"b\"}#", " ", "[\"\\uD800\\\"]", "[\"\\uD800\\u\"]", "[\"\\uD800\\u1\"]",
    "[\"\\uD800\\u1x\"]",
    "[é]", "[\"\\\0\"]", "[\"\\x00\"]", "[\"\\\\\\\"]", "[\"\\\t\"]", "[\"\\🌀\"]", "[\"\\\"]", "[\"\\u00A\"]",
    "[\"\\uD834\\uDd\"]",
    "[\"\\uD800\\uD800\\x\"]", "[\"\\a\"]", "[\"\\uqqqq\"]", "[\\u0020\"asd\"]", "[\\n]", "\"", "['single quote']",
    "abc", "[\"\\",
    "[\"a\0a\"]", "[\"new\nline\"]", "[\"\t\"]", "\"\\UA66D\"", "\"\"x", "<.>", "[<null>]", "[1]x", "[1]]", "[\"asd]",
    "aå", "[True]", "1]",
    "{\"x\": true,", "[][]", "]", "{\"\":", "", "[", "{", "{]", "[{", "{[", "{\"a", "[\"", "[\"a", "[\"a\"",
    "{\"a\":\"b\"}#{}", "[\u{2060}]",
    "[\u{C}]", "\u{2060}", "\u{FEFF}", "*", "{\"a\": true} \"x\"", "[\"a\"b]", "nullx", "truefalse", "{,\"a\":1}",
    "[1}", "{\"a\":1]",
  ]

  /// Texts that a parser may accept or refuse. Numbers of any size and lone surrogates are accepted here. Broken UTF-8,
  /// a byte order mark and depth beyond the limit are refused.
  static let free: [(String, Bool)] = [
    ("[123.456e-789]", true), ("[0.4e00669999999999999999999999999999999999999999999999999969999999006]", true),
    ("[-1e+9999]", true),
    ("[1.5e+9999]", true), ("[-123123123123123123123123123123]", true), ("[\"\\uDADA\"]", true),
    ("[\"\\uD888\\u1234\"]", true),
    ("[\"\\uD800\\n\"]", true), ("[\"\\uDd1ea\"]", true), ("[\"\\uD800\\uD800\\n\"]", true), ("[\"\\ud800\"]", true),
    ("[\"\\ud800abc\"]", true),
    ("[\"\\uDd1e\\uD834\"]", true), ("[\"\\uDFAA\"]", true), ("\u{FEFF}{}", false),
    (String(repeating: "[", count: 600) + String(repeating: "]", count: 600), false),
  ]

  static let freeBytes: [[UInt8]] = [
    [0x5B, 0x22, 0xE0, 0xFF, 0x22, 0x5D], [0x5B, 0x22, 0xFF, 0x22, 0x5D], [0x5B, 0x22, 0xED, 0xA0, 0x80, 0x22, 0x5D],
    [0x5B, 0x22, 0x81, 0x22, 0x5D], [0x5B, 0x22, 0xF4, 0xBF, 0xBF, 0xBF, 0x22, 0x5D],
    [0x5B, 0x22, 0xC0, 0xAF, 0x22, 0x5D],
    [0x5B, 0x22, 0xE6, 0x97, 0xA5, 0xD1, 0x88, 0xFA, 0x22, 0x5D], [0xFF, 0xFE, 0x5B, 0, 0x5D, 0], [0, 0x5B, 0, 0x5D],
  ]

  /// Checks a text alone, and padded so that the border of a 64-byte block falls on each of its positions.
  private func check(_ bytes: [UInt8], _ isValid: Bool) throws {
    let whole = try validate(bytes)
    #expect(whole.isValid == isValid, "\(String(decoding: bytes, as: UTF8.self)): \(whole)")
    let blanks = [UInt8](repeating: 0x20, count: 130)
    for pad in 0..<66 {
      let padded = try validate(blanks.prefix(pad) + bytes + blanks)
      #expect(padded.isValid == isValid, "\(String(decoding: bytes, as: UTF8.self)) behind \(pad): \(padded)")
      // The end of the text is found later when blanks follow it.
      guard let error = whole.error, error.code != .unexpectedEnd else { continue }
      #expect(padded.error?.byteOffset == error.byteOffset + Int64(pad))
      #expect(padded.error?.expected == error.expected)
    }
  }

  @Test func validTextsAreAccepted() throws {
    for text in Self.accepted { try check(Array(text.utf8), true) }
  }

  @Test func invalidTextsAreRefused() throws {
    for text in Self.refused { try check(Array(text.utf8), false) }
  }

  @Test func undefinedTextsAreAcceptedOrRefusedAsDecided() throws {
    for (text, isValid) in Self.free { try check(Array(text.utf8), isValid) }
    for bytes in Self.freeBytes { try check(bytes, false) }
  }
}
