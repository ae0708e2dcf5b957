import CampanileStore

/// A NUMERIC in the binary form, for example the sum of a BIGINT column: an integer if it is one, otherwise a real.
struct NumericValue {
  private enum Value {
    case integer(Int64)
    case real(Double)
  }
  private let value: Value

  var column: SQLColumn {
    switch value {
    case .integer(let value): SQLColumn(.integer, integer: value)
    case .real(let value): ColumnType.real(value)
    }
  }

  /// Reads four 16-bit fields (count of digits, weight of the first, sign, scale) and digits of base 10,000.
  init(_ bytes: UnsafeRawBufferPointer, _ number: Int) throws(StoreError) {
    func field(_ index: Int) -> UInt16 {
      UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self))
    }
    guard bytes.count >= 8, bytes.count == 8 + 2 * Int(field(0)) else {
      throw StoreError(.unavailable, "column \(number) has \(bytes.count) bytes", engineCode: "08P01")
    }
    let digits = (0..<Int(field(0))).map { field(4 + $0) }
    let weight = Int(Int16(bitPattern: field(1)))
    switch field(2) {
    case 0xC000: value = .real(.nan)
    case 0xD000: value = .real(.infinity)
    case 0xF000: value = .real(-.infinity)
    case let sign: value = Self.value(digits, weight: weight, isNegative: sign == 0x4000)
    }
  }

  private static func value(_ digits: [UInt16], weight: Int, isNegative: Bool) -> Value {
    if let whole = integer(digits, weight: weight, isNegative: isNegative) { return .integer(whole) }
    // Swift parses the decimal form exactly; adding up digits would round several times.
    let text = digits.map { String($0 + 10_000).dropFirst() }.joined()
    let exponent = 4 * (weight - digits.count + 1)
    return .real(Double("\(isNegative ? "-" : "")\(text)e\(exponent)") ?? .nan)
  }

  /// Returns nil for a number with a fraction, or outside the range.
  private static func integer(_ digits: [UInt16], weight: Int, isNegative: Bool) -> Int64? {
    guard !digits.isEmpty else { return 0 }
    guard digits.count <= weight + 1, weight < 5 else { return nil }
    var sum: Int64 = 0
    for place in 0...weight {
      let digit = place < digits.count ? Int64(digits[place]) : 0
      let (product, isTooLarge) = sum.multipliedReportingOverflow(by: 10_000)
      // Negative sums reach one further.
      let (next, isBeyond) = product.addingReportingOverflow(isNegative ? -digit : digit)
      guard !isTooLarge, !isBeyond else { return nil }
      sum = next
    }
    return sum
  }
}
