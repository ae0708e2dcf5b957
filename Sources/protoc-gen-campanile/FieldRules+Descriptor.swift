import CampanileContract
import SwiftProtobuf
import SwiftProtobufPluginLibrary

extension FieldRules {
  /// Reads the options of a field; all are unset if there is none. Errors name the file, the line and the column.
  init(_ field: FieldDescriptor) throws {
    let entry = field.isMap ? field.messageType.mapKeyAndValue.map { ($0.key.type, $0.value.type) } : nil
    let enumeration = field.isMap ? field.messageType.mapKeyAndValue?.value.enumType : field.enumType
    self = try field.place(in: field.file, field.fullName) {
      try FieldRules(
        FieldShape(
          type: field.type, messageType: field.messageType?.fullName ?? "",
          enumNumbers: enumeration.map { Set($0.values.map(\.number)) }, isRepeated: field.isRepeated,
          hasPresence: field.hasPresence, entry: entry,
          options: [UInt8](field.options.unknownFields.data)))
    }
  }
}

extension ProvidesSourceCodeLocation {
  /// Returns the result of `body`. Its errors get the position of this declaration.
  func place<Result>(in file: FileDescriptor, _ name: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as ContractError {
      throw fault(in: file, "\(name): \(error.description)")
    }
  }

  /// Returns an error at this declaration: `FILE:LINE:COLUMN: TEXT`, as from protoc.
  func fault(in file: FileDescriptor, _ text: String) -> ContractError {
    // Locations count from 0.
    let position = (sourceCodeInfoLocation?.span ?? []).prefix(2).map { ":\($0 + 1)" }.joined()
    return ContractError("\(file.name)\(position): \(text)")
  }
}
