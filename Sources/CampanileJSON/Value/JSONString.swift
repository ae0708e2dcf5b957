/// A JSON string in its original notation, with access to its unescaped value (RFC 8259, section 7).
///
/// `==` compares the unescaped code points (section 8.3): `"a\u0062"` equals `"ab"`, whereas `"é"` as one code point
/// and as two are different.
public struct JSONString: Sendable {
  /// The text between the quotes, including escapes.
  public let raw: String
  /// Whether `raw` has escapes.
  let isEscaped: Bool

  /// Creates a string with this value. Only mandatory escapes are used.
  public init(_ value: String) {
    isEscaped = value.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
    raw = isEscaped ? Self.escaped(value) : value
  }

  /// - Parameter raw: The content of a well-formed JSON string, without its quotes.
  init(raw: String, isEscaped: Bool) {
    self.raw = raw
    self.isEscaped = isEscaped
  }

  /// The unescaped value. A lone surrogate becomes U+FFFD.
  public var value: String { isEscaped ? String(decoding: bytes, as: UTF8.self) : raw }

  /// The unescaped value in UTF-8; a lone surrogate is encoded as three bytes.
  var bytes: [UInt8] {
    guard isEscaped else { return Array(raw.utf8) }
    var result: [UInt8] = []
    result.reserveCapacity(raw.utf8.count)
    var unescaper = Unescaper()
    for byte in raw.utf8 { unescaper.feed(byte) { result.append($0) } }
    unescaper.finish { result.append($0) }
    return result
  }

  /// Whether the unescaped value has the same code points as `text`.
  public func means(_ text: String) -> Bool {
    isEscaped ? bytes.elementsEqual(text.utf8) : Self.equal(raw, text)
  }

  /// Whether two texts have the same code points. Unlike `==` of `String`, canonically equivalent texts are not equal.
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
    // Terminates the bytes, so that the values hashed next are not confused with them.
    hasher.combine(0xFF as UInt8)
  }
}
