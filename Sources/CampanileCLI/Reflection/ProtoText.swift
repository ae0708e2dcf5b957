internal import SwiftProtobuf

extension DescriptorIndex {
  /// Returns the declaration of `name` in the proto language, with its comments if the descriptors contain them.
  ///
  /// A method includes its request and response messages.
  ///
  /// - Parameter name: A full name, or an abbreviation as in `NameResolver`.
  /// - Throws: `NameError` if the name is unknown or ambiguous.
  public func text(of name: String) throws(NameError) -> String {
    let full = try resolve(name)
    if let service = services.first(where: { $0.name == full }) { return Self.text(service) }
    if let message = messages.first(where: { $0.name == full }) { return text(message) }
    if let item = enums.first(where: { $0.name == full }) { return Self.text(item, name: item.name, indent: "") }
    return methodText(full)
  }

  /// Resolves an abbreviation. Services and methods take precedence over messages and enums of the same short name.
  private func resolve(_ name: String) throws(NameError) -> String {
    let callable = services.map(\.name) + methods.map(\.path)
    do throws(NameError) {
      return try NameResolver.resolve(name, among: callable, noun: "service, method or message")
    } catch {
      let types = messages.map(\.name) + enums.map(\.name)
      if let found = try? NameResolver.resolve(name, among: types, noun: "message") { return found }
      return try NameResolver.resolve(name, among: names, noun: "service, method or message")
    }
  }

  private func methodText(_ path: String) -> String {
    for service in services {
      for (number, method) in service.descriptor.method.enumerated() where "\(service.name)/\(method.name)" == path {
        var lines = ["// \(path)"]
        lines += service.comments.lines(at: service.path + [2, Int32(number)], indent: "")
        lines += Self.rpcLines(method, package: Self.package(of: service.name), indent: "")
        var text = lines.joined(separator: "\n") + "\n"
        for type in [method.inputType, method.outputType] {
          let full = type.hasPrefix(".") ? String(type.dropFirst()) : type
          if let message = messages.first(where: { $0.name == full }) { text += "\n" + self.text(message) }
        }
        return text
      }
    }
    return ""
  }

  private static func text(_ service: Entry<Google_Protobuf_ServiceDescriptorProto>) -> String {
    var lines = service.comments.lines(at: service.path, indent: "")
    lines.append("service \(service.name) {")
    for (number, method) in service.descriptor.method.enumerated() {
      lines += service.comments.lines(at: service.path + [2, Int32(number)], indent: "  ")
      lines += rpcLines(method, package: package(of: service.name), indent: "  ")
    }
    lines.append("}")
    return lines.joined(separator: "\n") + "\n"
  }

  private static func rpcLines(
    _ method: Google_Protobuf_MethodDescriptorProto, package: String, indent: String
  ) -> [String] {
    let input = (method.clientStreaming ? "stream " : "") + short(method.inputType, package)
    let output = (method.serverStreaming ? "stream " : "") + short(method.outputType, package)
    let head = "\(indent)rpc \(method.name)(\(input)) returns (\(output))"
    let level: String
    switch method.options.idempotencyLevel {
    case .idempotencyUnknown: return [head + ";"]
    case .noSideEffects: level = "NO_SIDE_EFFECTS"
    case .idempotent: level = "IDEMPOTENT"
    }
    return [head + " {", "\(indent)  option idempotency_level = \(level);", "\(indent)}"]
  }

  private func text(_ message: Entry<Google_Protobuf_DescriptorProto>) -> String {
    Self.lines(
      message.descriptor, title: message.name, package: Self.package(of: message.name), comments: message.comments,
      path: message.path, indent: "", depth: 0
    ).joined(separator: "\n") + "\n"
  }

  private static func lines(
    _ message: Google_Protobuf_DescriptorProto, title: String, package: String, comments: Comments, path: [Int32],
    indent: String, depth: Int
  ) -> [String] {
    guard depth < depthMax else { return [] }
    let inner = indent + "  "
    var lines = comments.lines(at: path, indent: indent) + ["\(indent)message \(title) {"]
    for (number, item) in message.enumType.enumerated() {
      let entry = Entry(name: item.name, descriptor: item, comments: comments, path: path + [4, Int32(number)])
      lines.append(text(entry, name: item.name, indent: inner).trimmingNewLine)
    }
    for (number, nested) in message.nestedType.enumerated() where !nested.options.mapEntry {
      lines += Self.lines(
        nested, title: nested.name, package: package, comments: comments, path: path + [3, Int32(number)],
        indent: inner, depth: depth + 1)
    }
    var openOneof: Int32?
    for (number, field) in message.field.enumerated() {
      let oneof = field.hasOneofIndex && !field.proto3Optional ? field.oneofIndex : nil
      if oneof != openOneof, openOneof != nil { lines.append(inner + "}") }
      if let oneof, oneof != openOneof, message.oneofDecl.indices.contains(Int(oneof)) {
        lines += comments.lines(at: path + [8, oneof], indent: inner)
        lines.append("\(inner)oneof \(message.oneofDecl[Int(oneof)].name) {")
      }
      openOneof = oneof
      let fieldIndent = oneof == nil ? inner : inner + "  "
      lines += comments.lines(at: path + [2, Int32(number)], indent: fieldIndent)
      lines.append(fieldIndent + fieldText(field, in: message, package: package))
    }
    if openOneof != nil { lines.append(inner + "}") }
    lines.append(indent + "}")
    return lines
  }

  private static func text(
    _ item: Entry<Google_Protobuf_EnumDescriptorProto>, name: String, indent: String
  ) -> String {
    var lines = item.comments.lines(at: item.path, indent: indent) + ["\(indent)enum \(name) {"]
    for (number, value) in item.descriptor.value.enumerated() {
      lines += item.comments.lines(at: item.path + [2, Int32(number)], indent: indent + "  ")
      lines.append("\(indent)  \(value.name) = \(value.number);")
    }
    lines.append(indent + "}")
    return lines.joined(separator: "\n") + "\n"
  }

  private static func fieldText(
    _ field: Google_Protobuf_FieldDescriptorProto, in message: Google_Protobuf_DescriptorProto, package: String
  ) -> String {
    var type = typeName(field, package)
    var label = ""
    if field.label == .repeated {
      let entryName = field.typeName.split(separator: ".").last.map(String.init)
      if let entry = message.nestedType.first(where: { $0.options.mapEntry && $0.name == entryName }),
        let key = entry.field.first(where: { $0.number == 1 }), let value = entry.field.first(where: { $0.number == 2 })
      {
        type = "map<\(typeName(key, package)), \(typeName(value, package))>"
      } else {
        label = "repeated "
      }
    } else if field.proto3Optional {
      label = "optional "
    }
    return "\(label)\(type) \(field.name) = \(field.number);"
  }

  private static func typeName(_ field: Google_Protobuf_FieldDescriptorProto, _ package: String) -> String {
    switch field.type {
    case .message, .enum, .group: short(field.typeName, package)
    case .double: "double"
    case .float: "float"
    case .int64: "int64"
    case .uint64: "uint64"
    case .int32: "int32"
    case .fixed64: "fixed64"
    case .fixed32: "fixed32"
    case .bool: "bool"
    case .string: "string"
    case .bytes: "bytes"
    case .uint32: "uint32"
    case .sfixed32: "sfixed32"
    case .sfixed64: "sfixed64"
    case .sint32: "sint32"
    case .sint64: "sint64"
    }
  }

  /// Returns a type's name relative to `package`.
  private static func short(_ type: String, _ package: String) -> String {
    let full = type.hasPrefix(".") ? String(type.dropFirst()) : type
    return !package.isEmpty && full.hasPrefix(package + ".") ? String(full.dropFirst(package.count + 1)) : full
  }

  /// Returns the package: the parts before the first capitalised one, according to proto's naming convention.
  private static func package(of name: String) -> String {
    name.split(separator: ".").prefix { $0.first?.isUppercase == false }.joined(separator: ".")
  }
}

extension String {
  fileprivate var trimmingNewLine: String { hasSuffix("\n") ? String(dropLast()) : self }
}
