import CampanileCodec

/// Validates the structure of JSON text and finds the ranges of its values, without decoding them.
///
/// It accepts exactly RFC 8259: UTF-8 (RFC 3629, no surrogates, no overlong forms), no bytes after the value, control
/// characters escaped. Nesting is limited. It never reads beyond `bytes`.
struct WireJSONScanner {
  /// The kind and position of an error.
  struct Fault: Error, Hashable {
    enum Kind: Hashable { case syntax, depth, encoding }
    var kind: Kind
    var byteOffset: Int
    var expected: StaticString

    static func == (a: Fault, b: Fault) -> Bool {
      a.kind == b.kind && a.byteOffset == b.byteOffset && a.expected.description == b.expected.description
    }
    func hash(into hasher: inout Hasher) {
      hasher.combine(kind)
      hasher.combine(byteOffset)
    }
  }

  let base: UnsafeRawPointer
  let end: Int
  var index: Int

  /// Creates a scanner. `bytes` must stay valid while it is used.
  init(_ bytes: UnsafeRawBufferPointer) {
    // An empty buffer has no base address; `end == 0` ensures that the placeholder is never read.
    base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
    end = bytes.count
    index = 0
  }

  @inline(__always) func byte(_ at: Int) -> UInt8 { base.load(fromByteOffset: at, as: UInt8.self) }

  func fault(_ expected: StaticString, _ kind: Fault.Kind = .syntax) -> Fault {
    Fault(kind: kind, byteOffset: index, expected: expected)
  }

  @inline(__always) mutating func skipWhitespace() {
    while index < end {
      let b = byte(index)
      if b > 0x20 { return }
      guard b == 0x20 || b == 0x0A || b == 0x0D || b == 0x09 else { return }
      index += 1
    }
  }

  /// Returns the next byte that is not white space, without consuming it; 0 at the end.
  @inline(__always) mutating func peek() -> UInt8 {
    skipWhitespace()
    return index < end ? byte(index) : 0
  }

  /// Skips a string whose opening quote is at `index`. Returns whether it contains escapes.
  @inline(__always) mutating func skipString() throws(Fault) -> Bool {
    index += 1
    var hasEscapes = false
    while true {
      let first = base.assumingMemoryBound(to: UInt8.self)
      index = JSONBytes.firstSpecial(first + index, first + end) - first
      while true {
        guard index < end else { throw fault("a closing quote") }
        let b = byte(index)
        if b == 0x22 {
          index += 1
          return hasEscapes
        }
        if b == 0x5C {
          hasEscapes = true
          try skipEscape()
          break
        }
        if b < 0x20 { throw fault("an escaped control character") }
        if b >= 0x80 {
          try skipMultibyte()
          continue
        }
        index += 1
      }
    }
  }

  private mutating func skipEscape() throws(Fault) {
    guard index + 1 < end else { throw fault("an escape") }
    switch byte(index + 1) {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      index += 2
    case UInt8(ascii: "u"):
      guard index + 6 <= end else { throw fault("four hexadecimal digits") }
      for at in index + 2..<index + 6 where WireJSONScanner.hexValue(byte(at)) == nil {
        throw fault("four hexadecimal digits")
      }
      index += 6
    default:
      throw fault("an escape")
    }
  }

  static func hexValue(_ b: UInt8) -> UInt8? {
    switch b {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): b - 0x30
    case UInt8(ascii: "a")...UInt8(ascii: "f"): b - 0x61 + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): b - 0x41 + 10
    default: nil
    }
  }

  /// Skips one multi-byte character (RFC 3629 section 4, table of well-formed sequences).
  private mutating func skipMultibyte() throws(Fault) {
    let lead = byte(index)
    let count: Int
    var low: UInt8 = 0x80
    var high: UInt8 = 0xBF
    switch lead {
    case 0xC2...0xDF: count = 1
    case 0xE0: (count, low) = (2, 0xA0)
    case 0xE1...0xEC, 0xEE...0xEF: count = 2
    case 0xED: (count, high) = (2, 0x9F)
    case 0xF0: (count, low) = (3, 0x90)
    case 0xF1...0xF3: count = 3
    case 0xF4: (count, high) = (3, 0x8F)
    default: throw fault("UTF-8", .encoding)
    }
    guard index + count < end else { throw fault("UTF-8", .encoding) }
    let second = byte(index + 1)
    guard second >= low, second <= high else { throw fault("UTF-8", .encoding) }
    if count > 1 {
      for offset in 2...count where byte(index + offset) & 0xC0 != 0x80 { throw fault("UTF-8", .encoding) }
    }
    index += count + 1
  }

  private mutating func skipNumber() throws(Fault) {
    if byte(index) == UInt8(ascii: "-") { index += 1 }
    guard index < end, isDigit(byte(index)) else { throw fault("a digit") }
    if byte(index) == UInt8(ascii: "0") { index += 1 } else { skipDigits() }
    if index < end, byte(index) == UInt8(ascii: ".") {
      index += 1
      guard index < end, isDigit(byte(index)) else { throw fault("a digit") }
      skipDigits()
    }
    if index < end, byte(index) | 0x20 == UInt8(ascii: "e") {
      index += 1
      if index < end, byte(index) == UInt8(ascii: "+") || byte(index) == UInt8(ascii: "-") { index += 1 }
      guard index < end, isDigit(byte(index)) else { throw fault("a digit") }
      skipDigits()
    }
  }

  @inline(__always) private func isDigit(_ b: UInt8) -> Bool { b &- 0x30 < 10 }
  private mutating func skipDigits() { while index < end, isDigit(byte(index)) { index += 1 } }

  private mutating func skipWord(_ word: StaticString) throws(Fault) {
    let count = word.utf8CodeUnitCount
    guard index + count <= end else { throw fault(word) }
    for offset in 0..<count where byte(index + offset) != word.utf8Start[offset] { throw fault(word) }
    index += count
  }

  @inline(__always) private mutating func skipScalar(_ first: UInt8) throws(Fault) {
    switch first {
    case UInt8(ascii: "\""): _ = try skipString()
    case UInt8(ascii: "t"): try skipWord("true")
    case UInt8(ascii: "f"): try skipWord("false")
    case UInt8(ascii: "n"): try skipWord("null")
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try skipNumber()
    default: throw fault("a value")
    }
  }

  /// Skips one value with at most `depthMax` (≤ 64) levels of nesting.
  mutating func skipValue(depthMax: Int) throws(Fault) {
    var first = peek()
    guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return try skipScalar(first) }
    // One bit per level, set for an object. The depth limit makes heap memory unnecessary.
    var objects: UInt64 = 0
    var depth = 0
    while true {
      // At the start of a value.
      var closed = false
      if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
        guard depth < min(depthMax, 64) else { throw fault("less nesting", .depth) }
        let isObject = first == UInt8(ascii: "{")
        index += 1
        depth += 1
        objects = objects << 1 | (isObject ? 1 : 0)
        if peek() == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
          closed = true
        } else {
          if isObject { try skipName() }
          first = peek()
          continue
        }
      } else {
        try skipScalar(first)
      }
      // After a value: close finished containers, then find the next value.
      while true {
        if !closed {
          guard depth > 0 else { return }
          let next = peek()
          if next == UInt8(ascii: ",") {
            index += 1
            if objects & 1 == 1 { try skipName() }
            break
          }
          guard next == (objects & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
            throw fault("a comma or the end of the container")
          }
        }
        closed = false
        index += 1
        depth -= 1
        objects >>= 1
        if depth == 0 { return }
      }
      first = peek()
    }
  }

  /// Skips a member's name and its colon.
  @inline(__always) private mutating func skipName() throws(Fault) {
    guard peek() == UInt8(ascii: "\"") else { throw fault("a member's name") }
    _ = try skipString()
    guard peek() == UInt8(ascii: ":") else { throw fault("a colon") }
    index += 1
  }
}
