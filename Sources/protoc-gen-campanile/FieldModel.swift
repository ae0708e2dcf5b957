import CampanileContract
import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// The Swift declaration, decoding and encoding of one value of a field.
struct ValueModel {
  var type: String
  var initial: String
  /// The expression that decodes the value from `reader`.
  var read: String
  /// Whether JSON's `null` is a value of this type.
  var takesNull = false
  private var writer: String
  private var presence: Presence

  private enum Presence { case notEmpty, notZero, bits, isTrue, rawValue, optional }

  init(_ field: FieldDescriptor, _ names: Names) throws {
    switch field.type {
    case .double: self.init(scalar: "Double", "double", .bits)
    case .float: self.init(scalar: "Float", "float", .bits)
    case .int64, .sint64, .sfixed64: self.init(scalar: "Int64", "int64", .notZero)
    case .uint64, .fixed64: self.init(scalar: "UInt64", "uint64", .notZero)
    case .int32, .sint32, .sfixed32: self.init(scalar: "Int32", "int32", .notZero)
    case .uint32, .fixed32: self.init(scalar: "UInt32", "uint32", .notZero)
    case .bool:
      self.init(scalar: "Bool", "bool", .isTrue)
      initial = "false"
    case .string:
      self.init(scalar: "String", "string", .notEmpty)
      initial = "\"\""
    case .bytes:
      self.init(scalar: "[UInt8]", "bytes", .notEmpty)
      initial = "[]"
    case .enum: self.init(enumeration: names.type(field.enumType))
    case .message:
      let type = names.type(field.messageType)
      self.init(scalar: type, "", .optional)
      initial = "\(type)()"
      read = "try \(type)(from: &reader)"
      takesNull = field.messageType.fullName == "google.protobuf.Value"
    case .group: throw field.fault(in: field.file, "\(field.fullName): groups are not proto3")
    }
  }

  private init(scalar type: String, _ function: String, _ presence: Presence) {
    self.type = type
    initial = "0"
    read = "try reader.\(function)()"
    writer = function
    self.presence = presence
  }

  private init(enumeration type: String) {
    self.init(scalar: type, "enumeration", .rawValue)
    initial = "\(type)()"
    if type == "ProtoNullValue" {
      read = "try reader.nullValue()"
      takesNull = true
      writer = "nullValue"
    } else {
      read = "try reader.enumeration(\(type).self)"
    }
  }

  /// Returns the statement that encodes the value of `expression`.
  func write(_ expression: String) -> String {
    presence == .optional ? "\(expression).encode(to: &writer)" : "writer.\(writer)(\(expression))"
  }

  /// Returns the condition for encoding the value of `expression`, for a field without presence.
  func isPresent(_ expression: String) -> String {
    switch presence {
    case .notEmpty: "!\(expression).isEmpty"
    case .notZero: "\(expression) != 0"
    case .bits: "\(expression).bitPattern != 0"
    case .isTrue: expression
    case .rawValue: "\(expression).rawValue != 0"
    case .optional: "\(expression) != nil"
    }
  }
}

/// The Swift declaration, decoding and encoding of one field.
struct FieldModel {
  enum Shape {
    /// A value that is omitted if it is the default.
    case plain
    /// A value with presence; `boxed` if its message may contain itself.
    case optional(boxed: Bool)
    case repeated
    case map(key: ValueModel, keyField: FieldDescriptor)
    case oneof(property: String, boxed: Bool)
  }

  let field: FieldDescriptor
  let name: String
  let value: ValueModel
  let shape: Shape
  /// The accepted JSON names: the JSON name, and the proto name if it differs.
  let jsonNames: [String]
  let rules: FieldRules

  init(_ field: FieldDescriptor, _ names: Names, recursion: Recursion) throws {
    self.field = field
    rules = try FieldRules(field)
    name = names.member(field.name)
    let json = field.jsonName ?? Names.camelCase(field.name)
    jsonNames = json == field.name ? [json] : [json, field.name]
    if field.isMap, let (key, value) = field.messageType.mapKeyAndValue {
      self.value = try ValueModel(value, names)
      shape = .map(key: try ValueModel(key, names), keyField: key)
      return
    }
    value = try ValueModel(field, names)
    if field.isRepeated {
      shape = .repeated
    } else if let oneof = field.realContainingOneof {
      shape = .oneof(property: names.member(oneof.name), boxed: recursion.isRecursive(field))
    } else if field.hasPresence {
      shape = .optional(boxed: recursion.isRecursive(field))
    } else {
      shape = .plain
    }
  }

  /// The property, qualified with `self.` because a local of the generated function may have the same name.
  var property: String { "self." + name }

  /// The stored property that contains the field's boxed value.
  var boxName: String { "box_" + name.filter { $0 != "`" } }
}
