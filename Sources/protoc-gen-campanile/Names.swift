import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// The Swift names of proto declarations.
struct Names {
  private let prefixes: [String: String]

  /// Types of Swift and of the runtime that generated code uses: a message with such a name gets a suffix.
  private static let takenTypes: Set<String> = [
    "Any", "Array", "Bool", "Dictionary", "Double", "Error", "Float", "Hashable", "Hasher", "Indirect", "Int32",
    "Int64",
    "JSONName", "JSONReader", "JSONWriter", "Optional", "Protocol", "ProtoEnum", "ProtoJSONError", "ProtoMessage",
    "Self",
    "Sendable", "StaticString", "String", "Type", "UInt32", "UInt64", "UInt8",
  ]
  private static let takenMembers: Set<String> = [
    "decode", "encode", "hash", "hashValue", "init", "jsonString", "jsonUTF8Bytes", "protoFullName", "self", "with",
  ]
  private static let takenCases: Set<String> = [
    "hash", "hashValue", "init", "none", "number", "protoName", "rawValue", "self", "some", "unrecognized",
  ]
  private static let keywords: Set<String> = [
    "as", "associatedtype", "async", "await", "break", "case", "catch", "class", "continue", "default", "defer",
    "deinit",
    "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
    "in",
    "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol", "public", "repeat",
    "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true", "try",
    "typealias",
    "var", "where", "while", "Type", "Protocol",
  ]
  private static let wellKnown: Set<String> = [
    "Timestamp", "Duration", "FieldMask", "Value", "Struct", "ListValue", "NullValue", "Any", "Empty", "DoubleValue",
    "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue",
  ]

  init(_ options: Options) {
    prefixes = options.prefixes
  }

  /// Returns the full Swift name of a message, such as `WatchResponse.Started`.
  func type(_ message: Descriptor) -> String {
    if let known = wellKnownType(message.fullName) { return known }
    if let outer = message.containingType { return type(outer) + "." + nested(message.name) }
    return top(message.name, message.file.package)
  }

  /// Returns the full Swift name of an enum.
  func type(_ enumeration: EnumDescriptor) -> String {
    if let known = wellKnownType(enumeration.fullName) { return known }
    if let outer = enumeration.containingType { return type(outer) + "." + nested(enumeration.name) }
    return top(enumeration.name, enumeration.file.package)
  }

  /// Returns the prefix of a service's Swift type names.
  func type(_ service: ServiceDescriptor) -> String {
    (prefixes[service.file.package] ?? "") + service.name
  }

  /// Returns the last component of a type's Swift name, as used in its declaration.
  func declared(_ name: String, nestedIn outer: Descriptor?, package: String) -> String {
    outer == nil ? top(name, package) : nested(name)
  }

  private func top(_ name: String, _ package: String) -> String {
    nested((prefixes[package] ?? "") + name)
  }

  private func nested(_ name: String) -> String {
    Self.takenTypes.contains(name) ? name + "Message" : name
  }

  private func wellKnownType(_ fullName: String) -> String? {
    let parts = fullName.split(separator: ".")
    guard parts.count == 3, parts[0] == "google", parts[1] == "protobuf", Self.wellKnown.contains(String(parts[2]))
    else {
      return nil
    }
    return "Proto" + parts[2]
  }

  /// Returns the property of a field, or the case of a oneof's member.
  func member(_ name: String) -> String {
    let camel = Self.camelCase(name)
    if Self.takenMembers.contains(camel) { return camel + "Field" }
    return Self.keywords.contains(camel) ? "`\(camel)`" : camel
  }

  /// Returns the enum of a oneof: its name in UpperCamelCase, with the suffix `Choice` if a nested type already has
  /// that name.
  func type(_ oneof: OneofDescriptor) -> String {
    let name = Self.upperCamelCase(oneof.name)
    let message: Descriptor = oneof.containingType
    let taken = message.messages.map(\.name) + message.enums.map(\.name) + Self.takenTypes + [message.name]
    return taken.contains(name) ? name + "Choice" : name
  }

  /// Returns the function of a method.
  func function(_ method: MethodDescriptor) -> String {
    let name = method.name.prefix(1).lowercased() + method.name.dropFirst()
    return Self.keywords.contains(name) ? "`\(name)`" : name
  }

  /// Returns the cases of an enum in the order of its values. The enum's name is removed as a prefix if the names stay
  /// distinct.
  func cases(_ enumeration: EnumDescriptor) -> [String] {
    let prefix = Self.upperSnakeCase(enumeration.name) + "_"
    let full = enumeration.values.map(\.name)
    let stripped = full.map { $0.uppercased().hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : $0 }
    let usable =
      Set(stripped.map(Self.camelCase)).count == full.count
      && stripped.allSatisfy { $0.first?.isNumber == false }
    return (usable ? stripped : full).map { name in
      let camel = Self.camelCase(name.contains(where: \.isLowercase) ? name : name.lowercased())
      if Self.takenCases.contains(camel) { return camel + "Value" }
      return Self.keywords.contains(camel) ? "`\(camel)`" : camel
    }
  }

  /// Returns the JSON name that protoc derives: the letter after an underscore in upper case.
  static func protocJSONName(_ name: String) -> String {
    var result = ""
    var isFirstOfWord = false
    for character in name {
      if character != "_" { result += isFirstOfWord ? character.uppercased() : String(character) }
      isFirstOfWord = character == "_"
    }
    return result
  }

  /// Converts to lowerCamelCase: `bucket_id` → `bucketId`, `URL_path` → `uRLPath`.
  static func camelCase(_ name: String) -> String {
    let upper = upperCamelCase(name)
    return upper.prefix(1).lowercased() + upper.dropFirst()
  }

  static func upperCamelCase(_ name: String) -> String {
    let parts = name.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }
    let joined = parts.joined()
    return joined.first.map { $0.isNumber ? "_" + joined : joined } ?? "_"
  }

  private static func upperSnakeCase(_ name: String) -> String {
    var result = ""
    var previousIsLower = false
    for character in name {
      if character.isUppercase, previousIsLower { result += "_" }
      result += character.uppercased()
      previousIsLower = character.isLowercase || character.isNumber
    }
    return result
  }
}
