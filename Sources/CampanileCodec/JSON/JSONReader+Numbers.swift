extension JSONReader {
  /// Reads an `int32`, `sint32` or `sfixed32`: an integral number in range, or a string that contains one.
  @inlinable
  public mutating func int32() throws(ProtoJSONError) -> Int32 {
    let wide = try int64()
    guard let value = Int32(exactly: wide) else { throw numberFailure(.outOfRange, "the number is outside int32") }
    return value
  }

  /// Reads a `uint32` or `fixed32`.
  @inlinable
  public mutating func uint32() throws(ProtoJSONError) -> UInt32 {
    let wide = try uint64()
    guard let value = UInt32(exactly: wide) else { throw numberFailure(.outOfRange, "the number is outside uint32") }
    return value
  }

  /// Reads an `int64`, `sint64` or `sfixed64`. Exponents and fractions are accepted if the value is integral (`1.5e1`).
  @inlinable
  public mutating func int64() throws(ProtoJSONError) -> Int64 {
    if let value = try shortInteger() { return value }
    let (negative, magnitude) = try integer()
    let limit = UInt64(Int64.max) + (negative ? 1 : 0)
    guard magnitude <= limit else { throw numberFailure(.outOfRange, "the number is outside int64") }
    return Int64(truncatingIfNeeded: negative ? 0 &- magnitude : magnitude)
  }

  /// Reads a `uint64` or `fixed64`.
  @inlinable
  public mutating func uint64() throws(ProtoJSONError) -> UInt64 {
    // Zero is parsed again, because it may be `-0`, which unsigned types do not have.
    if let value = try shortInteger(), value > 0 { return UInt64(value) }
    let (negative, magnitude) = try integer()
    guard !negative else { throw numberFailure(.outOfRange, "the number is outside uint64") }
    return magnitude
  }

  /// Reads an integer of at most 18 digits without fraction, exponent or escapes. Returns nil, and consumes nothing, if
  /// the next value has another form.
  ///
  /// `numberStart` is set for a second attempt and for errors.
  @inlinable
  mutating func shortInteger() throws(ProtoJSONError) -> Int64? {
    let first = peek()
    numberStart = position
    var next = position
    let quoted = first == UInt8(ascii: "\"")
    if quoted { next += 1 }
    let negative = next < end && next.pointee == UInt8(ascii: "-")
    if negative { next += 1 }
    let digits = next
    var value: Int64 = 0
    while next < end {
      let digit = next.pointee &- UInt8(ascii: "0")
      if digit > 9 { break }
      // More than 18 digits may wrap; such a value is discarded below.
      value = value &* 10 &+ Int64(truncatingIfNeeded: digit)
      next += 1
    }
    let count = next - digits
    guard next < end, count > 0, count <= 18, count == 1 || digits.pointee != UInt8(ascii: "0") else { return nil }
    let after = next.pointee
    if quoted {
      guard after == UInt8(ascii: "\"") else { return nil }
      next += 1
    } else if after == UInt8(ascii: ".") || after | 0x20 == UInt8(ascii: "e") {
      return nil
    }
    position = next
    return negative ? -value : value
  }

  /// Reads any integer; returns its sign and magnitude.
  @usableFromInline
  @inline(never)
  mutating func integer() throws(ProtoJSONError) -> (negative: Bool, magnitude: UInt64) {
    position = numberStart
    let text = try numberText("an integer")
    return try integer(text)
  }

  /// Reads an integer key of a map, and the colon; returns its sign and magnitude.
  mutating func integerKey() throws(ProtoJSONError) -> (negative: Bool, magnitude: UInt64) {
    let name = try key()
    numberStart = keyStart
    let text = UnsafeBufferPointer(start: name.start, count: name.count)
    guard Self.isNumber(text) else { throw keyFailure(.invalidFormat, "the key is not an integer") }
    return try integer(text)
  }

  func integer(_ text: UnsafeBufferPointer<UInt8>) throws(ProtoJSONError) -> (negative: Bool, magnitude: UInt64) {
    switch DecimalText(text).integer() {
    case .value(let magnitude): return (text.first == UInt8(ascii: "-"), magnitude)
    case .notIntegral: throw numberFailure(.wrongType, "expected an integer")
    case .overflow: throw numberFailure(.outOfRange, "the number is out of range")
    }
  }

  /// Reads a `double`: a number, a string that contains one, or `"NaN"`, `"Infinity"`, `"-Infinity"`.
  public mutating func double() throws(ProtoJSONError) -> Double {
    let text = try floatingPointText()
    if let special = Self.specialNumber(text) { return special }
    guard let value = DecimalText(text).double(), value.isFinite else {
      throw numberFailure(.outOfRange, "the number is outside double")
    }
    return value
  }

  /// Reads a `float`, in the same forms as a `double`.
  public mutating func float() throws(ProtoJSONError) -> Float {
    let text = try floatingPointText()
    if let special = Self.specialNumber(text) { return Float(special) }
    guard let value = DecimalText(text).float(), value.isFinite else {
      throw numberFailure(.outOfRange, "the number is outside float")
    }
    return value
  }

  private mutating func floatingPointText() throws(ProtoJSONError) -> UnsafeBufferPointer<UInt8> {
    _ = peek()
    numberStart = position
    return try numberText("a number", special: true)
  }

  private static func specialNumber(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
    guard let base = text.baseAddress else { return nil }
    let name = JSONName(start: base, count: text.count)
    switch name.count {
    case 3: return name.matches("NaN") ? .nan : nil
    case 8: return name.matches("Infinity") ? .infinity : nil
    case 9: return name.matches("-Infinity") ? -.infinity : nil
    default: return nil
    }
  }

  @usableFromInline
  @inline(never)
  func numberFailure(_ code: ProtoJSONError.Code, _ detail: String) -> ProtoJSONError {
    failure(code, detail, at: numberStart)
  }

  /// Consumes a number, bare or in a string, and returns its text. The text is in JSON's grammar or, if `special`, one
  /// of the names in `specialNumber`.
  mutating func numberText(_ expected: String, special: Bool = false) throws(ProtoJSONError) -> UnsafeBufferPointer<
    UInt8
  > {
    guard peek() != UInt8(ascii: "\"") else {
      let name = try keyWithEscapes()
      let text = UnsafeBufferPointer(start: name.start, count: name.count)
      guard Self.isNumber(text) || (special && Self.specialNumber(text) != nil) else {
        throw numberFailure(.wrongType, "expected \(expected)")
      }
      return text
    }
    let first = position
    position = Self.skipNumber(position, end)
    guard position > first else { throw wrongType(expected) }
    return UnsafeBufferPointer(start: first, count: position - first)
  }

  private static func isNumber(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let base = text.baseAddress, !text.isEmpty else { return false }
    return skipNumber(base, base + text.count) == base + text.count
  }

  /// Returns the position after the number at `first` (RFC 8259, section 6), or `first` if there is none.
  static func skipNumber(_ first: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
    var next = first
    if next < end, next.pointee == UInt8(ascii: "-") { next += 1 }
    let whole = skipDigits(next, end)
    guard whole > next, whole - next == 1 || next.pointee != UInt8(ascii: "0") else { return first }
    next = whole
    if next < end, next.pointee == UInt8(ascii: ".") {
      let fraction = skipDigits(next + 1, end)
      guard fraction > next + 1 else { return first }
      next = fraction
    }
    if next < end, next.pointee | 0x20 == UInt8(ascii: "e") {
      next += 1
      if next < end, next.pointee == UInt8(ascii: "+") || next.pointee == UInt8(ascii: "-") { next += 1 }
      let exponent = skipDigits(next, end)
      guard exponent > next else { return first }
      next = exponent
    }
    return next
  }

  private static func skipDigits(_ first: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
    var next = first
    while next < end, next.pointee &- UInt8(ascii: "0") <= 9 { next += 1 }
    return next
  }
}
