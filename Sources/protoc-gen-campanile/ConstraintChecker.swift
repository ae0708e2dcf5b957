import CampanileContract
import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// Checks the constraints of all messages: each rule is known, and some message satisfies all of them. Errors name the
/// file, the line and the column.
struct ConstraintChecker {
  static func check(_ files: [FileDescriptor]) throws {
    for message in files.flatMap(\.messages) { try check(message) }
  }

  private static func check(_ message: Descriptor) throws {
    try message.place(in: message.file, message.fullName) {
      let options = try WireFields.read(message.options.unknownFields.data)
      guard !options.contains(where: { $0.number == 1_159 }) else {
        throw ContractError("rules of whole messages are not supported")
      }
    }
    let required = try message.fields.filter { try FieldRules($0).isRequired }
    for oneof in message.realOneofs {
      try oneof.place(in: message.file, oneof.fullName) {
        _ = try OneofRules(oneof.options.unknownFields.data)
        guard required.filter({ $0.realContainingOneof === oneof }).count < 2 else {
          throw ContractError("has two required members, which exclude each other")
        }
      }
    }
    for field in required {
      try field.place(in: message.file, field.fullName) {
        guard !(try requires(field, message)) else { throw ContractError("is required in itself without end") }
      }
    }
    for nested in message.messages where !nested.options.mapEntry { try check(nested) }
  }

  /// Whether every valid value of a required field contains a certain message.
  private static func requires(_ field: FieldDescriptor, _ message: Descriptor) throws -> Bool {
    var seen: Set<String> = []
    var waiting = [field]
    while let field = waiting.popLast() {
      guard let next = field.containedMessage, seen.insert(next.fullName).inserted else { continue }
      if next === message { return true }
      waiting += try next.fields.filter { try FieldRules($0).isRequired }
    }
    return false
  }
}

extension FieldDescriptor {
  /// The message that a field contains: itself, or as an element or a map's value.
  var containedMessage: Descriptor? {
    if isMap { return messageType.mapKeyAndValue?.value.messageType }
    return messageType
  }
}
