/// The rules of a oneof: `(buf.validate.oneof)` of buf/validate/validate.proto.
package struct OneofRules: Sendable {
  /// Whether a valid message has one of the members.
  package private(set) var isRequired = false

  /// - Parameter options: The encoded options of the oneof that swift-protobuf does not know.
  package init(_ options: some Sequence<UInt8>) throws {
    for (number, value) in try WireFields.read(options) where number == 1_159 {
      for (part, value) in try WireFields.read(value) {
        guard part == 1 else { throw ContractError("buf.validate.oneof rule \(part) is not supported") }
        isRequired = try WireFields.number(value) != 0
      }
    }
  }
}
