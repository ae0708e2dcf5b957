extension FieldRules {
  /// Reads the bounds of a number: `lt` 2, `lte` 3, `gt` 4, `gte` 5.
  static func range(_ members: [(number: UInt64, value: ArraySlice<UInt8>)], type: UInt64) throws -> NumberRange {
    var range = NumberRange(type: type)
    for (number, value) in members {
      switch (number, type) {
      case (3, 1): range.highest = try bound(Float(bitPattern: UInt32(WireFields.fixed(value))))
      case (5, 1): range.lowest = try bound(Float(bitPattern: UInt32(WireFields.fixed(value))))
      case (3, 2): range.highest = try bound(Double(bitPattern: WireFields.fixed(value)))
      case (5, 2): range.lowest = try bound(Double(bitPattern: WireFields.fixed(value)))
      case (2...5, 3...6):
        let raw = try WireFields.number(value)
        let isSigned = type == 3 || type == 4
        // Exclusive bounds of integers become inclusive ones.
        let step: Int64 = number == 2 ? -1 : number == 4 ? 1 : 0
        let signed = Int64(bitPattern: raw).addingReportingOverflow(step)
        let unsigned = step < 0 ? raw.subtractingReportingOverflow(1) : raw.addingReportingOverflow(UInt64(step))
        if isSigned ? signed.overflow : unsigned.overflow { range.isPossible = false }
        let bound = isSigned ? "\(signed.partialValue)" : "\(unsigned.partialValue)"
        if number <= 3 { range.highest = bound } else { range.lowest = bound }
      default: throw ContractError("rule \(number) of a number is not supported")
      }
    }
    let (least, most) = type == 3 ? ("\(Int32.min)", "\(Int32.max)") : type == 5 ? ("0", "\(UInt32.max)") : (nil, nil)
    for case (let lowest?, let highest?) in [
      (range.lowest, range.highest), (range.lowest, most), (least, range.highest),
    ]
    where isAbove(lowest, highest, type: type) { range.isPossible = false }
    return range
  }

  private static func bound<Number: BinaryFloatingPoint>(_ value: Number) throws -> String {
    guard value.isFinite else { throw ContractError("has a bound that is not finite, which is not supported") }
    return "\(value)"
  }

  /// Reads the bounds of a duration: `lte` 4, `gte` 6.
  static func secondsRange(_ members: [(number: UInt64, value: ArraySlice<UInt8>)]) throws -> SecondsRange {
    var range = SecondsRange()
    for (number, value) in members {
      guard number == 4 || number == 6 else { throw ContractError("rule \(number) of a duration is not supported") }
      var seconds: Int64 = 0
      for (part, value) in try WireFields.read(value) {
        guard part == 1 else { throw ContractError("a bound with a fraction of a second is not supported") }
        seconds = Int64(bitPattern: try WireFields.number(value))
      }
      if number == 4 { range.highest = seconds } else { range.lowest = seconds }
    }
    return range
  }

  /// Whether a bound is above another one.
  private static func isAbove(_ lowest: String, _ highest: String, type: UInt64) -> Bool {
    switch type {
    case 6: (UInt64(lowest) ?? 0) > (UInt64(highest) ?? 0)
    case 3...5: (Int64(lowest) ?? 0) > (Int64(highest) ?? 0)
    default: (Double(lowest) ?? 0) > (Double(highest) ?? 0)
    }
  }
}
