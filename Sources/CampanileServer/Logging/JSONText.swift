import CampanileBase
import CampanileRPC

/// A minimal writer of JSON text, for log lines and the admin endpoints.
///
/// Quotes, backslashes and characters below U+0020 are escaped (RFC 8259 section 7). DEL and C1 controls are escaped so
/// that a log line cannot contain terminal escapes. So are U+2028 and U+2029, which some readers treat as line ends.
struct JSONText {
  private(set) var bytes: [UInt8] = []

  /// Creates an empty text.
  ///
  /// - Parameter sizeBytes: The initial capacity.
  init(sizeBytes: Int = 256) {
    bytes.reserveCapacity(sizeBytes)
  }

  /// Appends text without escaping.
  mutating func raw(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  /// Appends a whole number.
  mutating func number(_ value: Int) {
    bytes.append(contentsOf: String(value).utf8)
  }

  /// Appends a string in quotes, truncated with `…` if it exceeds `maximumBytes` of UTF-8.
  mutating func string(_ text: String, maximumBytes: Int = .max) {
    bytes.append(UInt8(ascii: "\""))
    defer { bytes.append(UInt8(ascii: "\"")) }
    if appendPlain(text, maximumBytes: maximumBytes) { return }
    var budget = maximumBytes
    for scalar in text.unicodeScalars {
      budget -= UTF8.width(scalar)
      guard budget >= 0 else {
        bytes.append(contentsOf: "…".utf8)
        break
      }
      switch scalar {
      case "\"": raw("\\\"")
      case "\\": raw("\\\\")
      case "\n": raw("\\n")
      case "\r": raw("\\r")
      case "\t": raw("\\t")
      case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{2028}", "\u{2029}": escape(scalar)
      default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }
  }

  /// Appends ASCII text that needs no escapes, which is the common case.
  ///
  /// - Returns: False if nothing was appended, because the text is too long or contains other characters.
  private mutating func appendPlain(_ text: String, maximumBytes: Int) -> Bool {
    let isAppended = text.utf8.withContiguousStorageIfAvailable { utf8 in
      guard utf8.count <= maximumBytes, utf8.allSatisfy(Self.isPlain) else { return false }
      bytes.append(contentsOf: utf8)
      return true
    }
    return isAppended ?? false
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x20..<0x7f).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  /// Appends a number in quotes, which is ProtoJSON's form of 64-bit integers.
  mutating func quoted(_ value: UInt64) {
    bytes.append(UInt8(ascii: "\""))
    // Avoids `String`, which allocates for 19 digits, the length of a time in nanoseconds.
    var space: (UInt64, UInt64, UInt32) = (0, 0, 0)
    withUnsafeMutableBytes(of: &space) { digits in
      var (rest, start) = (value, 20)
      repeat {
        start -= 1
        digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      bytes.append(contentsOf: digits[start..<20])
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Appends 16 hexadecimal digits.
  mutating func hexadecimal(_ value: UInt64) {
    HexadecimalDigits(value).append(to: &bytes)
  }

  private mutating func escape(_ scalar: Unicode.Scalar) {
    let digits = String(scalar.value, radix: 16)
    raw("\\u")
    bytes.append(contentsOf: String(repeating: "0", count: 4 - digits.count).utf8)
    bytes.append(contentsOf: digits.utf8)
  }
}
