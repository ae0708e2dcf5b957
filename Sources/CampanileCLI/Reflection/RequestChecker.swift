internal import Foundation
internal import SwiftProtobuf

/// Finds fields and enum names that the declaration of a request lacks.
///
/// Servers ignore them, because a client may be newer. A person who types a request has more likely misspelled a name.
struct RequestChecker: Sendable {
  private let messages: [String: Google_Protobuf_DescriptorProto]
  private let enums: [String: [String]]
  private let type: String

  /// - Parameter method: A method of `index`; the requests of other methods are not checked.
  init(_ index: DescriptorIndex, method: KnownMethod) {
    messages = Dictionary(index.messages.map { ($0.name, $0.descriptor) }) { first, _ in first }
    enums = Dictionary(index.enums.map { ($0.name, $0.descriptor.value.map(\.name)) }) { first, _ in first }
    let service = index.services.first { $0.name == method.service }
    type = service?.descriptor.method.first { $0.name == method.name }?.inputType ?? ""
  }

  /// Checks a request. Text that is not JSON is left to the server, which reports the position of the fault.
  ///
  /// - Throws: `UsageError` with the path and the nearest known names.
  func check(_ json: [UInt8]) throws(UsageError) {
    guard let value = try? JSONSerialization.jsonObject(with: Data(json)) else { return }
    try check(value, message: type, path: "", depth: 0)
  }

  private func check(_ value: Any, message type: String, path: String, depth: Int) throws(UsageError) {
    // The well-known types have JSON forms of their own, and an Any names its type itself.
    guard depth < DescriptorIndex.depthMax, !type.hasPrefix(".google.protobuf."),
      let message = messages[Self.fullName(type)], let members = value as? [String: Any]
    else { return }
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      let path = path + name
      guard let field = message.field.first(where: { $0.jsonName == name || $0.name == name }) else {
        throw Self.fault(path, "\(Self.fullName(type)) has no such field", name, known: message.field.map(\.jsonName))
      }
      if let entry = Self.entry(of: field, in: message) {
        for (key, value) in (value as? [String: Any] ?? [:]).sorted(by: { $0.key < $1.key }) {
          try check(value, entry, path: "\(path).\(key)", depth: depth)
        }
      } else if field.label == .repeated {
        for (number, element) in (value as? [Any] ?? []).enumerated() {
          try check(element, field, path: "\(path)[\(number)]", depth: depth)
        }
      } else {
        try check(value, field, path: path, depth: depth)
      }
    }
  }

  private func check(
    _ value: Any, _ field: Google_Protobuf_FieldDescriptorProto, path: String, depth: Int
  ) throws(UsageError) {
    if field.type == .message {
      return try check(value, message: field.typeName, path: path + ".", depth: depth + 1)
    }
    guard field.type == .enum, let name = value as? String, let names = enums[Self.fullName(field.typeName)],
      !names.contains(name)
    else { return }
    throw Self.fault(path, "\(Self.fullName(field.typeName)) has no value \(name.debugDescription)", name, known: names)
  }

  /// Returns the value's field of a map's entry; nil if the field is not a map.
  private static func entry(
    of field: Google_Protobuf_FieldDescriptorProto, in message: Google_Protobuf_DescriptorProto
  ) -> Google_Protobuf_FieldDescriptorProto? {
    guard field.label == .repeated, field.type == .message else { return nil }
    let name = field.typeName.split(separator: ".").last.map(String.init)
    return message.nestedType.first { $0.options.mapEntry && $0.name == name }?.field.first { $0.number == 2 }
  }

  private static func fullName(_ type: String) -> String { type.hasPrefix(".") ? String(type.dropFirst()) : type }

  private static func fault(_ path: String, _ what: String, _ name: String, known: [String]) -> UsageError {
    let near = NameResolver.suggestions(for: name, among: known)
    let hint = near.isEmpty ? "" : "; did you mean \(near.joined(separator: " or "))?"
    return UsageError(
      Terminal.printable("\(path.prefix(256)): \(what)\(hint) (--allow-unknown sends it)"))
  }
}
