import CampanileContract
import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// The TypeScript types of fields, as ProtoJSON represents them, and what a module has to import for them.
final class TypeScriptTypes {
  /// The package of the module.
  let package: String
  /// The types of the runtime that the module uses.
  private(set) var runtimeTypes: Set<String> = []
  /// The other packages that the module uses.
  private(set) var packages: Set<String> = []

  /// Global and imported types that declarations use: a message with such a name gets a suffix.
  private static let takenTypes: Set<String> = [
    "AnyMessage", "Base64", "ClientStreamingMethod", "BidirectionalMethod", "Double", "Duration", "FieldMask", "Int64",
    "JsonObject", "JsonValue", "Record", "ResumableMethod", "ServerStreamingMethod", "Timestamp", "UInt64",
    "UnaryMethod",
  ]

  private static let wellKnown: [String: String] = [
    "Any": "AnyMessage", "BoolValue": "boolean | null", "BytesValue": "Base64 | null", "DoubleValue": "Double | null",
    "Duration": "Duration", "Empty": "Record<string, never>", "FieldMask": "FieldMask", "FloatValue": "Double | null",
    "Int32Value": "number | null", "Int64Value": "Int64 | null", "ListValue": "JsonValue[]", "NullValue": "null",
    "StringValue": "string | null", "Struct": "JsonObject", "Timestamp": "Timestamp", "UInt32Value": "number | null",
    "UInt64Value": "UInt64 | null", "Value": "JsonValue",
  ]

  init(package: String) { self.package = package }

  /// Returns the type of a field's member.
  func type(_ field: FieldDescriptor) throws -> String {
    if field.isMap, let (_, value) = field.messageType.mapKeyAndValue {
      return "Record<string, \(try single(value))>"
    }
    let single = try single(field)
    guard field.isRepeated else { return single }
    return single.contains("|") ? "(\(single))[]" : single + "[]"
  }

  /// Returns the type of a message from within the module, such as `WatchResponse.Started`.
  func type(_ message: Descriptor) -> String {
    wellKnown(message.fullName) ?? reference(message.name, in: message.containingType, message.file)
  }

  /// Returns a type of the runtime and records that the module imports it.
  func runtime(_ name: String) -> String {
    runtimeTypes.insert(name)
    return name
  }

  /// Returns the name under which a module of another package is imported.
  func alias(_ package: String) -> String { package.map { $0 == "." ? "_" : String($0) }.joined() }

  /// Returns the last component of a type's name, as used in its declaration.
  static func declared(_ name: String) -> String { takenTypes.contains(name) ? name + "Message" : name }

  private func single(_ field: FieldDescriptor) throws -> String {
    switch field.type {
    case .double, .float: return runtime("Double")
    case .int64, .sint64, .sfixed64: return runtime("Int64")
    case .uint64, .fixed64: return runtime("UInt64")
    case .int32, .sint32, .sfixed32, .uint32, .fixed32: return "number"
    case .bool: return "boolean"
    case .string: return "string"
    case .bytes: return runtime("Base64")
    case .enum:
      let enumeration: EnumDescriptor = field.enumType
      return wellKnown(enumeration.fullName)
        ?? reference(enumeration.name, in: enumeration.containingType, enumeration.file)
    case .message:
      let message: Descriptor = field.messageType
      return type(message)
    case .group: throw field.fault(in: field.file, "\(field.fullName): groups are not proto3")
    }
  }

  private func wellKnown(_ fullName: String) -> String? {
    let prefix = "google.protobuf."
    guard fullName.hasPrefix(prefix), let type = Self.wellKnown[String(fullName.dropFirst(prefix.count))] else {
      return nil
    }
    for word in type.split(whereSeparator: { !$0.isLetter && !$0.isNumber }).map(String.init)
    where Self.takenTypes.contains(word) && word != "Record" {
      runtimeTypes.insert(word)
    }
    return type
  }

  private func reference(_ name: String, in outer: Descriptor?, _ file: FileDescriptor) -> String {
    if let outer { return type(outer) + "." + Self.declared(name) }
    guard file.package != package else { return Self.declared(name) }
    packages.insert(file.package)
    return alias(file.package) + "." + Self.declared(name)
  }
}
