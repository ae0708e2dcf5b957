internal import SwiftProtobuf

/// The declarations in a set of file descriptors, by full name.
public struct DescriptorIndex: Sendable {
  /// A declaration with the data needed to print it.
  struct Entry<Descriptor: Sendable>: Sendable {
    var name: String
    var descriptor: Descriptor
    var comments: Comments
    /// The location in the file, to which comments are attached (descriptor.proto, SourceCodeInfo.Location.path).
    var path: [Int32]
  }

  private(set) var services: [Entry<Google_Protobuf_ServiceDescriptorProto>] = []
  private(set) var messages: [Entry<Google_Protobuf_DescriptorProto>] = []
  private(set) var enums: [Entry<Google_Protobuf_EnumDescriptorProto>] = []

  /// Maximum depth of nested messages.
  static let depthMax = 32

  /// Decodes a serialized `google.protobuf.FileDescriptorSet`.
  ///
  /// - Throws: swift-protobuf's error if the bytes are invalid.
  public init(serialized bytes: [UInt8]) throws {
    let set = try Google_Protobuf_FileDescriptorSet(serializedBytes: bytes)
    self.init(files: set.file)
  }

  init(files: [Google_Protobuf_FileDescriptorProto]) {
    for file in files {
      let comments = Comments(file)
      let prefix = file.package.isEmpty ? "" : file.package + "."
      for (number, service) in file.service.enumerated() {
        services.append(
          Entry(name: prefix + service.name, descriptor: service, comments: comments, path: [6, Int32(number)]))
      }
      for (number, message) in file.messageType.enumerated() {
        add(message, prefix: prefix, path: [4, Int32(number)], comments: comments, depth: 0)
      }
      for (number, item) in file.enumType.enumerated() {
        enums.append(Entry(name: prefix + item.name, descriptor: item, comments: comments, path: [5, Int32(number)]))
      }
    }
  }

  private mutating func add(
    _ message: Google_Protobuf_DescriptorProto, prefix: String, path: [Int32], comments: Comments, depth: Int
  ) {
    guard depth < Self.depthMax else { return }
    let name = prefix + message.name
    messages.append(Entry(name: name, descriptor: message, comments: comments, path: path))
    for (number, nested) in message.nestedType.enumerated() where !nested.options.mapEntry {
      add(nested, prefix: name + ".", path: path + [3, Int32(number)], comments: comments, depth: depth + 1)
    }
    for (number, item) in message.enumType.enumerated() {
      enums.append(
        Entry(name: name + "." + item.name, descriptor: item, comments: comments, path: path + [4, Int32(number)]))
    }
  }

  /// Every method, in file order.
  public var methods: [KnownMethod] {
    services.flatMap { service in
      service.descriptor.method.map { method in
        KnownMethod(
          service: service.name, name: method.name, clientStreaming: method.clientStreaming,
          serverStreaming: method.serverStreaming, allowsRepeat: method.options.idempotencyLevel != .idempotencyUnknown)
      }
    }
  }

  /// Full names of all declarations that `describe` can print.
  public var names: [String] {
    services.map(\.name) + methods.map(\.path) + messages.map(\.name) + enums.map(\.name)
  }
}

/// The leading comments of a file, by the location of their declaration.
struct Comments: Sendable {
  private var leading: [[Int32]: String] = [:]

  init(_ file: Google_Protobuf_FileDescriptorProto) {
    for location in file.sourceCodeInfo.location where location.hasLeadingComments {
      leading[location.path] = location.leadingComments
    }
  }

  /// Returns the comment lines of the declaration at `path`, indented and with `//`; empty if it has no comment.
  func lines(at path: [Int32], indent: String) -> [String] {
    guard let text = leading[path] else { return [] }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
      let line = Terminal.printable($0)
      return indent + "//" + (line.isEmpty || line.hasPrefix(" ") ? "" : " ") + line
    }
    return lines.last == indent + "//" ? Array(lines.dropLast()) : lines
  }
}
