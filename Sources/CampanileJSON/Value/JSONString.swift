/// A JSON string as it is written between its quotes, and what it means (RFC 8259, section 7).
///
/// `==` compares the characters that it stands for, code point by code point (section 8.3): `"a\u0062"` equals `"ab"`, while
/// `"é"` as one code point and as two differ.
public struct JSONString: Sendable {
  /// The text between the quotes, escapes included.
  public let raw: String
  /// Whether `raw` has escapes.
  let isEscaped: Bool

  /// The string that stands for `value`. Escaped is only what must be.
  public init(_ value: String) {
    isEscaped = value.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
    raw = isEscaped ? Self.escaped(value) : value
  }

  /// `raw` is the inside of a well-formed JSON string.
  init(raw: String, isEscaped: Bool) {
    self.raw = raw
    self.isEscaped = isEscaped
  }

  /// What it stands for. Half of a surrogate pair becomes U+FFFD.
  public var value: String { isEscaped ? String(decoding: bytes, as: UTF8.self) : raw }

  /// What it stands for in UTF-8; half of a surrogate pair as three bytes of its own.
  var bytes: [UInt8] {
    guard isEscaped else { return Array(raw.utf8) }
    var result: [UInt8] = []
    result.reserveCapacity(raw.utf8.count)
    var unescaper = Unescaper()
    for byte in raw.utf8 { unescaper.feed(byte) { result.append($0) } }
    unescaper.finish { result.append($0) }
    return result
  }

  /// Whether it stands for the code points of `text`.
  public func means(_ text: String) -> Bool {
    isEscaped ? bytes.elementsEqual(text.utf8) : Self.equal(raw, text)
  }

  /// Whether two texts have the same code points. `==` of strings calls more equal: those that look alike.
  static func equal(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    let isEqual = left.utf8.withContiguousStorageIfAvailable { left in
      right.utf8.withContiguousStorageIfAvailable { right in left.elementsEqual(right) }
    }
    return (isEqual ?? nil) ?? left.utf8.elementsEqual(right.utf8)
  }

  private static func escaped(_ value: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(value.utf8.count + 16)
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0x08: bytes += "\\b".utf8
      case 0x09: bytes += "\\t".utf8
      case 0x0A: bytes += "\\n".utf8
      case 0x0C: bytes += "\\f".utf8
      case 0x0D: bytes += "\\r".utf8
      case 0..<0x20:
        bytes += "\\u00".utf8
        bytes += [ASCII.lowercaseHex[Int(byte >> 4)], ASCII.lowercaseHex[Int(byte & 15)]]
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension JSONString: Hashable {
  public static func == (left: JSONString, right: JSONString) -> Bool {
    if left.isEscaped || right.isEscaped {
      return left.raw.utf8.elementsEqual(right.raw.utf8) || left.bytes == right.bytes
    }
    return equal(left.raw, right.raw)
  }

  public func hash(into hasher: inout Hasher) {
    if isEscaped {
      bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    } else {
      var copy = raw
      copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
    // Ends the bytes, so that what follows them is not taken for part of them.
    hasher.combine(0xFF as UInt8)
  }
}
