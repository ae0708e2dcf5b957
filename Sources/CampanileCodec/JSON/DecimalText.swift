/// A number in JSON's grammar, split into digits and exponent so that a conversion rounds only once.
struct DecimalText {
  enum Integer {
    case value(UInt64)
    case notIntegral
    case overflow
  }

  private let text: UnsafeBufferPointer<UInt8>
  /// The first 19 significant digits.
  private var mantissa: UInt64 = 0
  /// The number of significant digits, without leading and trailing zeros.
  private var digits = 0
  /// The power of ten by which the digits, read as an integer, are multiplied.
  private var exponent = 0
  private let negative: Bool

  /// Parses `text`, which must be in JSON's grammar.
  init(_ text: UnsafeBufferPointer<UInt8>) {
    self.text = text
    negative = text.first == UInt8(ascii: "-")
    var zeros = 0
    var fraction = false
    var index = negative ? 1 : 0
    scan: while index < text.count {
      let byte = text[index]
      index += 1
      switch byte {
      case UInt8(ascii: "."): fraction = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"): break scan
      default:
        if fraction { exponent -= 1 }
        let digit = UInt64(byte - UInt8(ascii: "0"))
        if digit == 0 {
          zeros += digits > 0 ? 1 : 0
          continue
        }
        // Zeros count once a digit follows them; trailing zeros are added to the exponent.
        for _ in 0..<min(zeros, 20) { append(0) }
        digits += max(0, zeros - 20)
        zeros = 0
        append(digit)
      }
    }
    exponent += zeros
    exponent += Self.written(text, from: index)
  }

  private mutating func append(_ digit: UInt64) {
    digits += 1
    if digits <= 19 { mantissa = mantissa * 10 + digit }
  }

  /// Parses the exponent from `index` on, clamped to ±1,000,000,000 so that sums with lengths cannot overflow.
  private static func written(_ text: UnsafeBufferPointer<UInt8>, from index: Int) -> Int {
    var value = 0
    var sign = 1
    for byte in text[min(index, text.count)...] {
      switch byte {
      case UInt8(ascii: "-"): sign = -1
      case UInt8(ascii: "+"): break
      default: value = min(value * 10 + Int(byte - UInt8(ascii: "0")), 1_000_000_000)
      }
    }
    return sign * value
  }

  /// Returns the magnitude as an integer.
  func integer() -> Integer {
    if digits == 0 { return .value(0) }
    // The last digit is not zero, so a negative exponent leaves a fraction.
    if exponent < 0 { return .notIntegral }
    if digits + exponent > 20 { return .overflow }
    var value = mantissa
    if digits == 20 {
      // The twentieth digit was not stored: parse the digits again.
      guard let whole = UInt64(significantDigits) else { return .overflow }
      value = whole
    }
    for _ in 0..<exponent {
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      if overflow { return .overflow }
      value = product
    }
    return .value(value)
  }

  private var significantDigits: String {
    var result = ""
    for byte in text {
      if byte | 0x20 == UInt8(ascii: "e") { break }
      guard (48...57).contains(byte), !(result.isEmpty && byte == 48) else { continue }
      result.unicodeScalars.append(UnicodeScalar(byte))
    }
    return String(result.prefix(digits))
  }

  /// Returns the nearest double; nil or infinite if there is none.
  func double() -> Double? {
    // Both factors are exact, so the result is rounded once (Clinger's fast path).
    if digits <= 15, exponent >= -22, exponent <= 22 {
      let scale = Self.powersOfTen[abs(exponent)]
      let value = exponent < 0 ? Double(mantissa) / scale : Double(mantissa) * scale
      return negative ? -value : value
    }
    return Double(String(decoding: text, as: UTF8.self))
  }

  /// Returns the nearest float; nil or infinite if there is none.
  func float() -> Float? {
    if digits <= 7, exponent >= -10, exponent <= 10 {
      let scale = Float(Self.powersOfTen[abs(exponent)])
      let value = exponent < 0 ? Float(mantissa) / scale : Float(mantissa) * scale
      return negative ? -value : value
    }
    return Float(String(decoding: text, as: UTF8.self))
  }

  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
  ]
}
