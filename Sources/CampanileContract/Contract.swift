package import SwiftProtobuf

/// The services, messages and enums of a descriptor set with their comments, constraints, access and HTTP rules.
package struct Contract: Sendable {
  /// The services, in the order of the files.
  package private(set) var services: [Service] = []
  /// The messages by full name, without the entries of maps.
  package private(set) var messages: [String: Message] = [:]
  /// The enums by full name.
  package private(set) var enums: [String: Enumeration] = [:]

  /// Maximum depth of nested messages; deeper ones are left out.
  private static let depthMax = 32

  /// Reads a serialized `google.protobuf.FileDescriptorSet`. Comments need its `source_code_info`.
  ///
  /// - Throws: swift-protobuf's error for invalid bytes, `ContractError` for options that cannot be read.
  package init(descriptorSet bytes: [UInt8]) throws {
    try self.init(files: Google_Protobuf_FileDescriptorSet(serializedBytes: bytes).file)
  }

  package init(files: [Google_Protobuf_FileDescriptorProto]) throws {
    for file in files {
      let comments = FileComments(file)
      let prefix = file.package.isEmpty ? "" : file.package + "."
      for (number, service) in file.service.enumerated() {
        services.append(try Service(service, package: file.package, comments, path: [6, Int32(number)]))
      }
      for (number, message) in file.messageType.enumerated() {
        try add(message, prefix, comments, path: [4, Int32(number)], depth: 0)
      }
      for (number, item) in file.enumType.enumerated() {
        enums[prefix + item.name] = Enumeration(item, prefix, comments, path: [5, Int32(number)])
      }
    }
  }

  private mutating func add(
    _ message: Google_Protobuf_DescriptorProto, _ prefix: String, _ comments: FileComments, path: [Int32], depth: Int
  ) throws {
    guard depth < Self.depthMax else { return }
    let added = try Message(message, prefix, comments, path: path)
    messages[added.name] = added
    for (number, nested) in message.nestedType.enumerated() where !nested.options.mapEntry {
      try add(nested, added.name + ".", comments, path: path + [3, Int32(number)], depth: depth + 1)
    }
    for (number, item) in message.enumType.enumerated() {
      enums[added.name + "." + item.name] = Enumeration(
        item, added.name + ".", comments, path: path + [4, Int32(number)])
    }
  }

  /// Every method, in the order of the services.
  package var methods: [Method] { services.flatMap(\.methods) }

  /// Returns the method with a wire name such as `campanile.rpc.v1.EchoService/Echo`.
  package func method(_ path: String) -> Method? { methods.first { $0.path == path } }
}
