import SwiftProtobuf

extension FieldRules {
  /// The types of numbers that rules exist for, by their number in `buf.validate.FieldRules`.
  private static let numberTypes: [UInt64: Google_Protobuf_FieldDescriptorProto.TypeEnum] = [
    1: .float, 2: .double, 3: .int32, 4: .int64, 5: .uint32, 6: .uint64,
  ]

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
    try checkPossible(field)
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
    if isRequired, isIgnored { throw ContractError("is required and ignored") }
    guard reason.isEmpty != description.isEmpty || !reason.isEmpty else { return }
    guard !reason.isEmpty, !description.isEmpty else {
      throw ContractError("a violation needs a reason and a description")
    }
    guard case .text(_, _, let pattern, let values) = kind, pattern != nil || !values.isEmpty else {
      throw ContractError("describes the violation of a pattern that it does not have")
    }
  }
}
