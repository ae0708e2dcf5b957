import CampanileContract
import SwiftProtobuf
import SwiftProtobufPluginLibrary

extension FieldRules {
  /// Reads the options of a field; all are unset if there is none. Errors name the file and the line.
  init(_ field: FieldDescriptor) throws {
    let entry = field.isMap ? field.messageType.mapKeyAndValue.map { ($0.key.type, $0.value.type) } : nil
    do {
      try self.init(
        FieldShape(
          type: field.type, messageType: field.messageType?.fullName ?? "", isRepeated: field.isRepeated,
          hasPresence: field.hasPresence, entry: entry,
          options: [UInt8](field.options.unknownFields.data)))
    } catch let error as ContractError {
      let line = field.sourceCodeInfoLocation?.span.first.map { ":\($0 + 1)" } ?? ""
      throw ContractError("\(field.file.name)\(line): \(field.fullName): \(error.description)")
    }
  }
}
