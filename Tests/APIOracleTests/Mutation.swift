/// Small random changes of JSON texts, most of which remain JSON.
struct Mutation {
  private enum Kind { case string, number, literal, punctuation }
  private struct Token {
    var kind: Kind
    var range: Range<Int>
  }

  /// Returns `text` with one to three changes.
  static func apply(to text: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var result = text
    for _ in 0..<(1 + random.below(3)) {
      result = random.oneIn(4) ? bytes(result, &random) : token(result, &random)
    }
    return result
  }

  private static func bytes(_ text: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    guard !text.isEmpty else { return Array("{}".utf8) }
    var result = text
    let index = random.below(text.count)
    switch random.below(5) {
    case 0: result[index] = UInt8(truncatingIfNeeded: random.next())
    case 1: result.remove(at: index)
    case 2:
      result.insert(
        contentsOf: Array(random.pick([" ", "\n", ",", "\"", "\\", "0", "}", "e", "\u{0}", "é"]).utf8), at: index)
    case 3: result = Array(result.prefix(index))
    default: result[index] ^= 1 << UInt8(random.below(8))
    }
    return result
  }

  private static let values = [
    "null", "true", "false", "0", "-0", "1", "-1", "1.0", "1e0", "1.5e1", "15e-1", "0.0", "1e400", "1e39", "01", "+1",
    ".5", "1.",
    "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
    "18446744073709551616",
    "\"\"", "\"1\"", "\"-5\"", "\"1e2\"", "\" 1\"", "\"1 \"", "\"0x1\"", "\"\\u0031\"", "\"NaN\"", "\"Infinity\"",
    "\"-Infinity\"", "\"true\"", "\"COLOR_GREEN\"", "\"COLOR_CRIMSON\"", "\"color_red\"", "\"NOPE\"", "\"AA==\"",
    "\"AA\"",
    "\"A\"", "\"-_-_\"", "\"+/+/\"", "\"+_\"", "\"AAA\"", "\"1970-01-01T00:00:00Z\"",
    "\"2000-02-29T23:59:59.123+01:30\"",
    "\"1900-02-29T00:00:00Z\"", "\"0001-01-01T00:00:00+01:00\"", "\"1970-01-01t00:00:00z\"", "\"1970-01-01T00:00:60Z\"",
    "\"1s\"", "\"-0.5s\"", "\"1.0000000001s\"", "\"315576000001s\"", "\".5s\"", "\"1.s\"", "\"a,bC\"", "\"a_b\"",
    "\"a,,b\"",
    "{}", "[]", "[null]", "{\"a\":1}", "[1,2]",
    "{\"@type\":\"type.googleapis.com/google.protobuf.Duration\",\"value\":\"1s\"}",
    "{\"@type\":\"x\"}", "\"\\ud83d\\ude00\"", "\"\\ud83d\"", "\"\\udc00x\"", "\"\\x\"", "NaN",
  ]

  private static func token(_ text: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    let tokens = tokenize(text)
    guard !tokens.isEmpty else { return bytes(text, &random) }
    let index = random.below(tokens.count)
    let token = tokens[index]
    var result = text
    let isKey = token.kind == .string && index + 1 < tokens.count && text[tokens[index + 1].range.lowerBound] == 0x3A
    switch (token.kind, random.below(4)) {
    case (.string, 0) where isKey: result.replaceSubrange(token.range, with: snakeCase(text[token.range]))
    case (.string, 1) where isKey: result.insert(contentsOf: Array("\"unknown\":1,".utf8), at: token.range.lowerBound)
    case (.string, 2) where isKey:
      // Repeats the key and the first token of the value, which is a whole member for scalars.
      let value = index + 2 < tokens.count ? Array(text[tokens[index + 2].range]) : []
      result.insert(contentsOf: Array(text[token.range]) + [0x3A] + value + [0x2C], at: token.range.lowerBound)
    case (.string, 3): result.replaceSubrange(token.range, with: escaped(text[token.range], &random))
    case (.punctuation, 0): result.remove(at: token.range.lowerBound)
    case (.punctuation, _): result.insert(contentsOf: [0x20, 0x0A], at: token.range.lowerBound)
    default:
      if isKey { return result }
      result.replaceSubrange(token.range, with: Array(random.pick(values).utf8))
    }
    return result
  }

  private static func snakeCase(_ key: ArraySlice<UInt8>) -> [UInt8] {
    key.flatMap { (65...90).contains($0) ? [0x5F, $0 | 0x20] : [$0] }
  }

  /// Replaces one plain character of a string with a `\u` escape.
  private static func escaped(_ string: ArraySlice<UInt8>, _ random: inout SeededGenerator) -> [UInt8] {
    var result = Array(string)
    guard result.count > 2 else { return result }
    let index = 1 + random.below(result.count - 2)
    let byte = result[index]
    guard (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte), result[index - 1] != 0x5C
    else {
      return result
    }
    result.replaceSubrange(index...index, with: Array("\\u00\(String(byte, radix: 16))".utf8))
    return result
  }

  private static func tokenize(_ text: [UInt8]) -> [Token] {
    var tokens: [Token] = []
    var index = 0
    while index < text.count {
      let first = index
      switch text[index] {
      case 0x22:
        index += 1
        while index < text.count, text[index] != 0x22 { index += text[index] == 0x5C ? 2 : 1 }
        index = min(index + 1, text.count)
        tokens.append(Token(kind: .string, range: first..<index))
      case 0x2D, 0x30...0x39:
        while index < text.count, "+-.eE0123456789".utf8.contains(text[index]) { index += 1 }
        tokens.append(Token(kind: .number, range: first..<index))
      case 0x61...0x7A:
        while index < text.count, (0x61...0x7A).contains(text[index]) { index += 1 }
        tokens.append(Token(kind: .literal, range: first..<index))
      case 0x2C, 0x3A, 0x5B, 0x5D, 0x7B, 0x7D:
        index += 1
        tokens.append(Token(kind: .punctuation, range: first..<index))
      default: index += 1
      }
    }
    return tokens
  }
}
