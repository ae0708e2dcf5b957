import SwiftProtobuf

extension FieldRules {
  /// The types of numbers that rules exist for, by their number in `buf.validate.FieldRules`.
  private static let numberTypes: [UInt64: Google_Protobuf_FieldDescriptorProto.TypeEnum] = [
    1: .float, 2: .double, 3: .int32, 4: .int64, 5: .uint32, 6: .uint64,
  ]

  /// Reads the bounds of a number: `lt` 2, `lte` 3, `gt` 4, `gte` 5.
  static func range(_ members: [(number: UInt64, value: ArraySlice<UInt8>)], type: UInt64) throws -> NumberRange {
    var range = NumberRange(type: type)
    for (number, value) in members {
      switch (number, type) {
      case (3, 1): range.highest = "\(Float(bitPattern: UInt32(WireFields.fixed(value))))"
      case (5, 1): range.lowest = "\(Float(bitPattern: UInt32(WireFields.fixed(value))))"
      case (3, 2): range.highest = "\(Double(bitPattern: WireFields.fixed(value)))"
      case (5, 2): range.lowest = "\(Double(bitPattern: WireFields.fixed(value)))"
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
    if let lowest = range.lowest, let highest = range.highest, compare(lowest, highest, type: type) {
      range.isPossible = false
    }
    return range
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
  private static func compare(_ lowest: String, _ highest: String, type: UInt64) -> Bool {
    switch type {
    case 6: (UInt64(lowest) ?? 0) > (UInt64(highest) ?? 0)
    case 3...5: (Int64(lowest) ?? 0) > (Int64(highest) ?? 0)
    default: (Double(lowest) ?? 0) > (Double(highest) ?? 0)
    }
  }

  /// Throws if the rules do not suit the field's type, or no value can satisfy them.
  func check(_ field: FieldShape) throws {
    switch kind {
    case .repeated where !field.isRepeated || field.entry != nil, .map where field.entry == nil:
      throw ContractError("has rules of another type")
    case .repeated:
      for rules in elements { try rules.checkValue(field.type, message: field.messageType) }
    case .map:
      guard let entry = field.entry else { return }
      for rules in keys { try rules.checkValue(entry.key, message: "") }
      for rules in elements { try rules.checkValue(entry.value, message: "") }
    default:
      if field.isRepeated, kind != nil { throw ContractError("has rules of another type") }
      try checkValue(field.type, message: field.messageType)
    }
    guard !(elements + keys).contains(where: \.isRequired) else {
      throw ContractError("has required elements, which is not supported")
    }
    try checkPossible()
  }

  /// Checks the rules of one value.
  private func checkValue(_ type: Google_Protobuf_FieldDescriptorProto.TypeEnum, message: String) throws {
    var fits = true
    switch kind {
    case nil: break
    case .repeated, .map: fits = false
    case .text(_, _, let pattern, _):
      fits = type == .string
      if let pattern { _ = try PatternCompiler.expression(pattern) }
    case .bytes: fits = type == .bytes
    case .enumeration: fits = type == .enum
    case .number(let range): fits = Self.numberTypes[range.type] == type
    case .duration: fits = message == "google.protobuf.Duration"
    }
    guard fits else { throw ContractError("has rules of another type") }
    if isRequired, allowsZero { throw ContractError("is required and ignores an empty value") }
    guard reason.isEmpty != description.isEmpty || !reason.isEmpty else { return }
    guard !reason.isEmpty, !description.isEmpty else {
      throw ContractError("a violation needs a reason and a description")
    }
    guard case .text(_, _, let pattern, let values) = kind, pattern != nil || !values.isEmpty else {
      throw ContractError("describes the violation of a pattern that it does not have")
    }
  }

  private func checkPossible() throws {
    var bounds: [Bounds] = []
    switch kind {
    case .text(let characters, let bytes, _, _): bounds = [characters, bytes]
    case .bytes(let sizes): bounds = [sizes]
    case .repeated(let counts), .map(let counts): bounds = [counts]
    case .number(let range):
      if !range.isPossible { throw ContractError("has bounds that exclude every value") }
    case .duration(let range):
      if range.lowest ?? .min > range.highest ?? .max { throw ContractError("has bounds that exclude every value") }
    case .enumeration, nil: break
    }
    for bound in bounds where (bound.min ?? 0) > (bound.max ?? .max) {
      throw ContractError("needs at least \(bound.min ?? 0) and at most \(bound.max ?? .max)")
    }
    for rules in elements + keys { try rules.checkPossible() }
  }
}
