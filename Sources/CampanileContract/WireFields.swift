/// Reads the encoded values of a serialized message, for options whose types swift-protobuf does not know.
package enum WireFields {
  package static func read(_ bytes: some Sequence<UInt8>) throws -> [(number: UInt64, value: ArraySlice<UInt8>)] {
    var rest = ArraySlice(bytes)
    var fields: [(number: UInt64, value: ArraySlice<UInt8>)] = []
    while !rest.isEmpty {
      let tag = try varint(&rest)
      switch tag & 7 {
      case 0:
        let start = rest
        _ = try varint(&rest)
        fields.append((tag >> 3, start.prefix(start.count - rest.count)))
      case 1: fields.append((tag >> 3, try take(8, &rest)))
      case 2: fields.append((tag >> 3, try take(try varint(&rest), &rest)))
      case 5: fields.append((tag >> 3, try take(4, &rest)))
      default: throw ContractError("an option is malformed")
      }
    }
    return fields
  }

  /// Returns the value of an encoded varint.
  package static func number(_ value: ArraySlice<UInt8>) throws -> UInt64 {
    var rest = value
    return try varint(&rest)
  }

  /// Returns the values of consecutive encoded varints.
  static func numbers(_ value: ArraySlice<UInt8>) throws -> [UInt64] {
    var rest = value
    var numbers: [UInt64] = []
    while !rest.isEmpty { numbers.append(try varint(&rest)) }
    return numbers
  }

  /// Returns the value of an encoded fixed-width number.
  static func fixed(_ value: ArraySlice<UInt8>) -> UInt64 {
    value.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  private static func take(_ count: UInt64, _ rest: inout ArraySlice<UInt8>) throws -> ArraySlice<UInt8> {
    guard count <= rest.count else { throw ContractError("an option is truncated") }
    let value = rest.prefix(Int(count))
    rest = rest.dropFirst(Int(count))
    return value
  }

  private static func varint(_ rest: inout ArraySlice<UInt8>) throws -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while let byte = rest.popFirst(), shift < 64 {
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw ContractError("an option is truncated")
  }
}
