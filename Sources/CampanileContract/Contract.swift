package import SwiftProtobuf

/// The services, messages and enums of a descriptor set with their comments, constraints, access and HTTP rules.
package struct Contract: Sendable {
  /// The services, in the order of the files.
  package private(set) var services: [Service] = []
  /// The messages by full name, without the entries of maps.
  package private(set) var messages: [String: Message] = [:]
  /// The enums by full name.
  package private(set) var enums: [String: Enumeration] = [:]
  /// Words of comments that look like reasons of errors, but are values of enums.
  private(set) var enumWords: Set<String> = []

  /// Maximum depth of nested messages; deeper ones are left out.
  package static let depthMax = 32

  /// The treatment of constraints and other options that this version cannot read.
  package enum Reading: Sendable {
    /// Throws `ContractError`. For generators.
    case strict
    /// Leaves the option out; `FieldRules.isUnreadable` is set. For descriptors of a server of another version.
    case lenient

    func read<Value>(_ value: () throws -> Value, otherwise: Value) throws -> Value {
      do { return try value() } catch {
        guard case .lenient = self else { throw error }
        return otherwise
      }
    }
  }

  /// Reads a serialized `google.protobuf.FileDescriptorSet`. Comments need its `source_code_info`.
  ///
  /// - Throws: swift-protobuf's error for invalid bytes, `ContractError` for options that cannot be read.
  package init(descriptorSet bytes: [UInt8], reading: Reading = .strict) throws {
    try self.init(files: Google_Protobuf_FileDescriptorSet(serializedBytes: bytes).file, reading: reading)
  }

  package init(files: [Google_Protobuf_FileDescriptorProto], reading: Reading = .strict) throws {
    for file in files {
      let comments = FileComments(file)
      let scope = Scope(package: file.package, comments: comments, reading: reading)
      for (number, service) in file.service.enumerated() {
        services.append(try Service(service, scope, path: [6, Int32(number)]))
      }
      for (number, message) in file.messageType.enumerated() {
        try add(message, scope, path: [4, Int32(number)], depth: 0)
      }
      for (number, item) in file.enumType.enumerated() {
        let added = Enumeration(item, scope, path: [5, Int32(number)])
        enums[added.name] = added
      }
    }
    enumWords = Self.words(of: enums.values)
  }

  private mutating func add(
    _ message: Google_Protobuf_DescriptorProto, _ scope: Scope, path: [Int32], depth: Int
  ) throws {
    guard depth < Self.depthMax else { return }
    let added = try Message(message, scope, path: path)
    messages[added.name] = added
    var inner = scope
    inner.prefix = added.name + "."
    for (number, nested) in message.nestedType.enumerated() where !nested.options.mapEntry {
      try add(nested, inner, path: path + [3, Int32(number)], depth: depth + 1)
    }
    for (number, item) in message.enumType.enumerated() {
      let added = Enumeration(item, inner, path: path + [4, Int32(number)])
      enums[added.name] = added
    }
  }

  /// Every method, in the order of the services.
  package var methods: [Method] { services.flatMap(\.methods) }

  /// Returns the method with a wire name such as `campanile.rpc.v1.EchoService/Echo`.
  package func method(_ path: String) -> Method? { methods.first { $0.path == path } }
}

extension Contract {
  /// The surroundings of a declaration: its file, and the messages that contain it.
  struct Scope {
    let package: String
    /// The full name of the package or of the containing message with a final dot; empty without a package.
    var prefix: String
    let comments: FileComments
    let reading: Reading

    init(package: String, comments: FileComments, reading: Reading) {
      self.package = package
      prefix = package.isEmpty ? "" : package + "."
      self.comments = comments
      self.reading = reading
    }
  }
}
