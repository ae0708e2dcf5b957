/// A JSON number in its original notation (RFC 8259, section 6): of any size and precision.
///
/// `==` compares exact decimal values: `1`, `1.00` and `10e-1` are equal, and so are `0` and `-0`. Numbers whose
/// exponent has more than 15 digits are compared as text.
public struct JSONNumber: Sendable {
  /// The number in its original notation.
  public let text: String

  public init(_ value: Int) {
    text = String(value)
  }

  /// - Parameter text: A well-formed JSON number.
  init(text: String) {
    self.text = text
  }

  /// The value as an integer; nil if it is not written as one or does not fit.
  public var int: Int? { Int(text) }

  /// The nearest double; infinite for numbers beyond the greatest finite one.
  public var double: Double { Double(text) ?? .nan }

  /// digits × 10^exponent, without leading or trailing zeros in the digits; no digits for 0.
  private struct Decimal: Hashable {
    var isNegative = false
    var digits: [UInt8] = []
    var exponent = 0

    init?(_ text: String) {
      var written = 0
      var isExponentNegative = false
      var part = 0
      for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "-"): if part == 2 { isExponentNegative = true } else { isNegative = true }
        case UInt8(ascii: "+"): break
        case UInt8(ascii: "."): part = 1
        case UInt8(ascii: "e"), UInt8(ascii: "E"): part = 2
        default:
          if part == 2 {
            written = written * 10 + Int(byte) - 0x30
            if written >= 1_000_000_000_000_000 { return nil }
            continue
          }
          if part == 1 { exponent -= 1 }
          if byte != 0x30 || !digits.isEmpty { digits.append(byte) }
        }
      }
      while digits.last == 0x30 {
        digits.removeLast()
        exponent += 1
      }
      exponent += isExponentNegative ? -written : written
      if digits.isEmpty {
        isNegative = false
        exponent = 0
      }
    }
  }
}

extension JSONNumber: Hashable {
  public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
    if left.text == right.text { return true }
    guard let leftValue = Decimal(left.text), let rightValue = Decimal(right.text) else { return false }
    return leftValue == rightValue
  }

  public func hash(into hasher: inout Hasher) {
    if let value = Decimal(text) { hasher.combine(value) } else { hasher.combine(text) }
  }
}
