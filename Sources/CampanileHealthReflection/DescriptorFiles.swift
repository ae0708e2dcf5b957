/// The files of a serialized `google.protobuf.FileDescriptorSet`, separated so that subsets can be returned.
///
/// Decodes only the required fields of the binary format (protobuf encoding guide). The field numbers are those of
/// descriptor.proto: `file` = 1 of the set, and `name` = 1, `package` = 2, `dependency` = 3 and `service` = 6 (with
/// `name` = 1) of each file.
struct DescriptorFiles: Sendable {
  struct File: Sendable {
    var name = ""
    var package = ""
    var dependencies: [String] = []
    var services: [String] = []
    /// The serialized file descriptor.
    var bytes: ArraySlice<UInt8>
  }

  private(set) var files: [File] = []

  /// Decodes a set, or several that were concatenated, of which the first file of each name counts. If the set is
  /// truncated, the files before the truncation are available.
  init(_ set: [UInt8]) {
    var names: Set<String> = []
    for field in ProtobufFields(set[...]) where field.number == 1 {
      var file = File(bytes: field.value)
      for part in ProtobufFields(field.value) {
        switch part.number {
        case 1: file.name = part.text
        case 2: file.package = part.text
        case 3: file.dependencies.append(part.text)
        case 6:
          let name = ProtobufFields(part.value).first { $0.number == 1 }
          if let name { file.services.append(name.text) }
        default: break
        }
      }
      if names.insert(file.name).inserted { files.append(file) }
    }
  }

  /// Returns a serialized set of the files that declare `services` and of their transitive imports, in original order.
  func set(of services: [String]) -> [UInt8] {
    let wanted = Set(services)
    var needed: Set<String> = []
    var queue = files.filter { file in
      file.services.contains { wanted.contains(file.package.isEmpty ? $0 : "\(file.package).\($0)") }
    }
    while let file = queue.popLast() {
      guard needed.insert(file.name).inserted else { continue }
      queue.append(contentsOf: files.filter { file.dependencies.contains($0.name) })
    }
    var result: [UInt8] = []
    for file in files where needed.contains(file.name) {
      result.append(0x0A)  // field 1, length-delimited
      ProtobufFields.appendVarint(UInt64(file.bytes.count), to: &result)
      result.append(contentsOf: file.bytes)
    }
    return result
  }
}

/// The length-delimited fields of a serialized message. Skips other fields and ends at the first malformed byte.
struct ProtobufFields: Sequence, IteratorProtocol {
  struct Field {
    var number: UInt64
    var value: ArraySlice<UInt8>
    var text: String { String(decoding: value, as: UTF8.self) }
  }

  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  mutating func next() -> Field? {
    while let tag = varint() {
      switch tag & 7 {
      case 0:
        guard varint() != nil else { return nil }
      case 1:
        guard take(8) != nil else { return nil }
      case 2:
        guard let count = varint(), count <= UInt64(rest.count), let value = take(Int(count)) else { return nil }
        return Field(number: tag >> 3, value: value)
      case 5:
        guard take(4) != nil else { return nil }
      default:
        return nil
      }
    }
    return nil
  }

  private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  private mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 7) {
      guard let byte = rest.popFirst() else { return nil }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    return nil
  }

  static func appendVarint(_ value: UInt64, to bytes: inout [UInt8]) {
    var value = value
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: value))
  }
}
