import CampanileJSON

/// The result of validating a text: its summary or its error.
enum Verdict: Equatable, CustomStringConvertible {
  case valid(JSONSummary)
  case invalid(JSONSyntaxError)

  var isValid: Bool { if case .valid = self { true } else { false } }

  var error: JSONSyntaxError? { if case .invalid(let error) = self { error } else { nil } }

  var description: String {
    switch self {
    case .valid(let summary): "\(summary)"
    case .invalid(let error): "\(error)"
    }
  }
}

/// Validates `bytes` in chunks of the given sizes; the rest is one more chunk. With `saving`, the validator is saved
/// and restored between chunks.
func validate(
  _ bytes: [UInt8], chunks: [Int] = [], limits: JSONLimits = .init(), saving: Bool = false
) throws -> Verdict {
  var validator = JSONValidator(limits: limits)
  do {
    var start = 0
    for size in chunks + [bytes.count] where start < bytes.count {
      let end = min(start + size, bytes.count)
      // A separate copy, so that a read beyond the chunk is a read beyond an allocation.
      let chunk = Array(bytes[start..<end])
      try chunk.withUnsafeBytes { try validator.update($0) }
      start = end
      if saving { validator = try JSONValidator(state: validator.state) }
    }
    return .valid(try validator.finish())
  } catch let error as JSONSyntaxError {
    return .invalid(error)
  }
}

func validate(_ text: String, chunks: [Int] = [], limits: JSONLimits = .init()) throws -> Verdict {
  try validate(Array(text.utf8), chunks: chunks, limits: limits)
}

/// A SplitMix64 generator, which yields the same numbers in every run.
struct Random: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }

  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

  mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// Sizes of chunks that add up to `count` or more.
  mutating func chunks(of count: Int, upTo limit: Int) -> [Int] {
    var sizes: [Int] = []
    var sum = 0
    while sum < count {
      sizes.append(1 + below(limit))
      sum += sizes[sizes.count - 1]
    }
    return sizes
  }
}

/// A generator of random JSON texts that use the whole grammar.
struct TextGenerator {
  var random: Random
  /// Whether texts have white space, and escapes that are not needed.
  var isVaried = true

  init(seed: UInt64, isVaried: Bool = true) {
    random = Random(seed)
    self.isVaried = isVaried
  }

  mutating func text(depth: Int = 4) -> String { blank() + value(depth) + blank() }

  private mutating func blank() -> String {
    guard isVaried, random.chance(15) else { return "" }
    return ["  ", "\n", "\t", "\r\n  ", "          "][random.below(5)]
  }

  mutating func value(_ depth: Int) -> String {
    switch random.below(depth > 0 ? 9 : 5) {
    case 0: return ["true", "false", "null"][random.below(3)]
    case 1: return number()
    case 2...4: return string()
    case 5, 6: return list("[", "]", depth) { $0.value($1) }
    default: return object(depth)
    }
  }

  mutating func object(_ depth: Int) -> String {
    var index = 0
    return list("{", "}", depth) { generator, depth in
      index += 1
      let name = generator.isVaried ? generator.string() : "\"k\(generator.random.below(2))\(index)\""
      return name + generator.blank() + ":" + generator.blank() + generator.value(depth)
    }
  }

  private mutating func list(
    _ open: String, _ close: String, _ depth: Int, _ item: (inout TextGenerator, Int) -> String
  ) -> String {
    var items: [String] = []
    for _ in 0..<random.below(6) { items.append(blank() + item(&self, depth - 1) + blank()) }
    return open + items.joined(separator: ",") + close
  }

  mutating func number() -> String {
    if !isVaried { return String(random.below(100)) }
    var text = random.chance(30) ? "-" : ""
    text += random.chance(20) ? "0" : String(1 + random.below(1_000_000_000))
    if random.chance(30) { text += ".\(random.below(100_000))" }
    if random.chance(20) { text += ["e", "E", "e+", "E-"][random.below(4)] + String(random.below(30)) }
    return text
  }

  private static let pieces = [
    "a", "id", "Riunione", " ", "é", "ß", "Привет", "通知", "🚀", "~", "/", "\u{7F}", "\u{2028}", "0123456789",
    "abcdefghijklmnopqrstuvwxyz", "{", "}", "[", "]", ",", ":",
  ]
  private static let escapes = [
    #"\""#, #"\\"#, #"\/"#, #"\b"#, #"\f"#, #"\n"#, #"\r"#, #"\t"#, #"\u0000"#, #"\u00e9"#, #"\uD83D\uDE80"#,
    #"\u20AC"#,
  ]

  mutating func string() -> String {
    var text = "\""
    for _ in 0..<random.below(8) {
      let isEscape = isVaried && random.chance(20)
      let pool = isEscape ? Self.escapes : Self.pieces
      text += pool[random.below(isVaried ? pool.count : 4)]
    }
    return text + "\""
  }
}

/// A text with some bytes changed, removed, doubled or cut off.
func mutated(_ bytes: [UInt8], _ random: inout Random) -> [UInt8] {
  var bytes = bytes
  let alphabet =
    Array("{}[]:,\"\\u/ \n\t0123456789-+.eEtrufalsn".utf8) + [0, 0x1F, 0x7F, 0x80, 0xC3, 0xE2, 0xED, 0xF0, 0xFF]
  for _ in 0..<(1 + random.below(3)) where !bytes.isEmpty {
    let index = random.below(bytes.count)
    switch random.below(5) {
    case 0: bytes[index] = alphabet[random.below(alphabet.count)]
    case 1: bytes.remove(at: index)
    case 2: bytes.insert(alphabet[random.below(alphabet.count)], at: index)
    case 3: bytes.insert(contentsOf: bytes[index..<min(bytes.count, index + 8)], at: index)
    default:
      if random.chance(30) { bytes.removeSubrange(index...) } else { bytes[index] ^= 1 << UInt8(random.below(8)) }
    }
  }
  return bytes
}

func hexadecimal(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
