/// Compiles a regular expression into the parts of a `TextPattern`.
///
/// The accepted expressions are a part of RE2's: `^`, then ASCII characters and classes such as `[A-Za-z0-9_]`, each
/// with an optional `?`, `*`, `+`, `{n}`, `{n,}` or `{n,m}`, then `$`.
package struct PatternCompiler {
  package struct Part {
    package var characters: Set<UInt8>
    package var min = 1
    package var max = 1
  }

  private var rest: Substring.UnicodeScalarView
  private let pattern: String

  /// Returns the Swift expression that makes the `TextPattern`.
  package static func expression(_ pattern: String) throws -> String {
    let list = try parts(of: pattern).map { part in
      var (low, high): (UInt64, UInt64) = (0, 0)
      for byte in part.characters {
        if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
      }
      let most = part.max == .max ? ".max" : "\(part.max)"
      return ".init(0x\(String(low, radix: 16)), 0x\(String(high, radix: 16)), \(part.min), \(most))"
    }
    return "TextPattern(\(list.joined(separator: ", ")))"
  }

  /// Returns the parts of a pattern in their order.
  package static func parts(of pattern: String) throws -> [Part] {
    var compiler = PatternCompiler(pattern)
    return try compiler.parts()
  }

  /// Whether the parts of a pattern match a text completely. Neighbouring parts have no common characters.
  static func matches(_ text: String, _ parts: [Part]) -> Bool {
    var rest = Array(text.utf8)[...]
    for part in parts {
      let count = min(rest.prefix(while: part.characters.contains).count, part.max)
      guard count >= part.min else { return false }
      rest = rest.dropFirst(count)
    }
    return rest.isEmpty
  }

  private init(_ pattern: String) {
    self.pattern = pattern
    rest = pattern[...].unicodeScalars
  }

  private mutating func parts() throws -> [Part] {
    guard rest.popFirst() == "^" else { throw failure("must begin with ^") }
    var parts: [Part] = []
    while let scalar = rest.popFirst() {
      if scalar == "$" {
        guard rest.isEmpty else { throw failure("has characters after $") }
        try checkDistinct(parts)
        return parts
      }
      var part = Part(characters: try scalar == "[" ? characterClass() : [character(scalar)])
      try repetition(&part)
      parts.append(part)
    }
    throw failure("must end with $")
  }

  private mutating func character(_ scalar: Unicode.Scalar) throws -> UInt8 {
    var scalar = scalar
    if scalar == "\\" {
      guard let next = rest.popFirst(), ".^$*+?()[]{}|\\/-".unicodeScalars.contains(next) else {
        throw failure("has an unsupported escape")
      }
      scalar = next
    } else if ".*+?()|{}]".unicodeScalars.contains(scalar) {
      throw failure("has \(scalar), which is not supported here")
    }
    guard scalar.isASCII else { throw failure("has the character \(scalar), which is not ASCII") }
    return UInt8(scalar.value)
  }

  private mutating func characterClass() throws -> Set<UInt8> {
    var characters: Set<UInt8> = []
    guard rest.first != "^" else { throw failure("has a negated class, which is not supported") }
    while let scalar = rest.popFirst(), scalar != "]" {
      // Inside a class, only these are special.
      let first = try "\\".unicodeScalars.contains(scalar) ? character(scalar) : literal(scalar)
      guard rest.first == "-", rest.dropFirst().first != "]" else {
        characters.insert(first)
        continue
      }
      rest.removeFirst()
      guard let next = rest.popFirst() else { throw failure("has a class without ]") }
      let last = try next == "\\" ? character(next) : literal(next)
      guard first <= last else { throw failure("has a range in reverse order") }
      characters.formUnion(first...last)
    }
    guard pattern.unicodeScalars[..<rest.startIndex].last == "]" else { throw failure("has a class without ]") }
    guard !characters.isEmpty else { throw failure("has an empty class") }
    return characters
  }

  private func literal(_ scalar: Unicode.Scalar) throws -> UInt8 {
    guard scalar.isASCII, scalar != "[" else { throw failure("has \(scalar) in a class, which is not supported") }
    return UInt8(scalar.value)
  }

  private mutating func repetition(_ part: inout Part) throws {
    switch rest.first {
    case "?": (part.min, part.max) = (0, 1)
    case "*": (part.min, part.max) = (0, .max)
    case "+": (part.min, part.max) = (1, .max)
    case "{":
      guard let end = rest.firstIndex(of: "}") else { throw failure("has { without }") }
      let bounds = String(rest[..<end].dropFirst()).split(separator: ",", omittingEmptySubsequences: false)
      // RE2 accepts at most 1000 repetitions.
      guard let least = bounds.first.flatMap({ Int($0) }), bounds.count <= 2, (0...1_000).contains(least) else {
        throw failure("has an invalid repetition")
      }
      part.min = least
      part.max = least
      if bounds.count == 2 { part.max = bounds[1].isEmpty ? .max : Int(bounds[1]) ?? -1 }
      guard part.max >= part.min, part.max == .max || part.max <= 1_000 else {
        throw failure("has an invalid repetition")
      }
      rest = rest[end...]
    default: return
    }
    rest.removeFirst()
    if let next = rest.first, "?*+{".unicodeScalars.contains(next) { throw failure("has two repetitions in a row") }
  }

  /// Without a common character, a greedy match is the only one.
  private func checkDistinct(_ parts: [Part]) throws {
    for (index, part) in parts.enumerated() where part.min != part.max {
      for next in parts[(index + 1)...] {
        guard part.characters.isDisjoint(with: next.characters) else {
          throw failure("has neighbouring parts with common characters, which is not supported")
        }
        if next.min > 0 { break }
      }
    }
  }

  private func failure(_ text: String) -> ContractError { ContractError("the pattern \(pattern) \(text)") }
}
