import CampanileBase
import CampanileCodec
import CampanileRPC

/// Converts a service's response from ProtoJSON to protobuf's binary form, by its descriptor.
///
/// Members that the descriptor lacks are left out, because a service may be newer than the gateway. An enum name that
/// it lacks becomes `JSONReader.unknownEnumNumber`.
struct JSONToProtobuf {
  let index: SchemaIndex
  let json: UnsafeRawBufferPointer

  /// Converts a response of the given type. Throws INTERNAL `RESPONSE_NOT_CONVERTED` if it does not match the type.
  static func convert(_ json: UnsafeRawBufferPointer, _ type: String, _ index: SchemaIndex) throws(RPCError) -> [UInt8]
  {
    if json.isEmpty { return [] }
    return try JSONToProtobuf(index: index, json: json).message(0..<json.count, type, depth: 0).bytes
  }

  private static func fault(_ what: String) -> RPCError {
    RPCError(.internalError, "the response's \(what) cannot be converted to protobuf", reason: "RESPONSE_NOT_CONVERTED")
  }

  private func message(_ range: Range<Int>, _ type: String, depth: Int) throws(RPCError) -> ProtobufBytes {
    guard depth < ProtobufToJSON.depthMax else { throw Self.fault(type) }
    if let known = try wellKnown(range, type, depth: depth) { return known }
    guard let schema = index.messages[type], let members = RawJSON.members(json, range) else { throw Self.fault(type) }
    var result = ProtobufBytes()
    var seen: Set<UInt64> = []
    var chosen: Set<Int32> = []
    for member in members {
      guard let field = schema.field(member.name) else { continue }
      // Readers keep only the last of duplicate members and of several oneof fields, so both are rejected.
      guard seen.insert(field.number).inserted else { throw Self.fault(field.jsonName) }
      if isNull(member.value), field.kind != .message("google.protobuf.Value") { continue }
      if let oneof = schema.oneofs[field.number], !chosen.insert(oneof).inserted { throw Self.fault(field.jsonName) }
      if field.entry.count == 2 {
        try add(map: member.value, field, depth: depth, to: &result)
      } else if field.isRepeated {
        guard let elements = RawJSON.elements(json, member.value) else { throw Self.fault(field.jsonName) }
        for element in elements { try add(element, field, depth: depth, to: &result) }
      } else {
        try add(member.value, field, depth: depth, to: &result)
      }
    }
    return result
  }

  private func add(
    map range: Range<Int>, _ field: FieldSchema, depth: Int, to result: inout ProtobufBytes
  ) throws(RPCError) {
    guard let members = RawJSON.members(json, range) else { throw Self.fault(field.jsonName) }
    var keys: Set<[UInt8]> = []
    for member in members {
      var entry = ProtobufBytes()
      try add(text: member.name, field.entry[0], to: &entry)
      guard keys.insert(entry.bytes).inserted else { throw Self.fault(field.jsonName) }
      try add(member.value, field.entry[1], depth: depth, to: &entry)
      result.message(field.number, entry)
    }
  }

  private func add(
    _ range: Range<Int>, _ field: FieldSchema, depth: Int, to result: inout ProtobufBytes
  ) throws(RPCError) {
    if case .message(let type) = field.kind {
      return result.message(field.number, try message(range, type, depth: depth + 1))
    }
    if let text = RawJSON.string(json, range) { return try add(text: text, field, to: &result) }
    let text = String(decoding: json[range], as: UTF8.self)
    switch field.kind {
    case .string, .bytes: throw Self.fault(field.jsonName)
    case .enumeration where Int32(text) == nil: throw Self.fault(field.jsonName)
    default: try add(text: text, field, to: &result)
    }
  }

  /// Adds a scalar value, given as text.
  private func add(text: String, _ field: FieldSchema, to result: inout ProtobufBytes) throws(RPCError) {
    let number = field.number
    switch field.kind {
    case .string: result.blob(number, Array(text.utf8))
    case .bytes:
      guard let bytes = Base64.decode(text) else { throw Self.fault(field.jsonName) }
      result.blob(number, bytes)
    case .bool: result.varint(number, text == "true" ? 1 : 0)
    case .double, .float:
      guard let value = Double(text == "Infinity" ? "inf" : text == "-Infinity" ? "-inf" : text) else {
        throw Self.fault(field.jsonName)
      }
      if field.kind == .double {
        result.fixed(number, value.bitPattern)
      } else {
        result.fixed(number, Float(value).bitPattern)
      }
    case .enumeration(let name):
      let known = index.enums[name]?.first { $0.name == text }?.number
      let value = known ?? Int32(text) ?? JSONReader.unknownEnumNumber
      result.varint(number, UInt64(bitPattern: Int64(value)))
    default:
      guard let bits = Self.integer(text) else { throw Self.fault(field.jsonName) }
      switch field.wire {
      case .zigzag:
        let value = Int64(bitPattern: bits)
        result.varint(number, UInt64(bitPattern: value << 1 ^ value >> 63))
      case .fixed64: result.fixed(number, bits)
      case .fixed32: result.fixed(number, UInt32(truncatingIfNeeded: bits))
      default: result.varint(number, bits)
      }
    }
  }

  private static func integer(_ text: String) -> UInt64? {
    if let value = Int64(text) { return UInt64(bitPattern: value) }
    if let value = UInt64(text) { return value }
    return Double(text).flatMap { Int64(exactly: $0) }.map { UInt64(bitPattern: $0) }
  }

  private func isNull(_ range: Range<Int>) -> Bool { json[range].elementsEqual("null".utf8) }

  // MARK: well-known types

  private func wellKnown(_ range: Range<Int>, _ type: String, depth: Int) throws(RPCError) -> ProtobufBytes? {
    var result = ProtobufBytes()
    let slice = UnsafeRawBufferPointer(rebasing: json[range])
    switch type {
    case "google.protobuf.Timestamp":
      guard let time = try? ProtoTimestamp(jsonUTF8: slice) else { throw Self.fault(type) }
      result.integer(1, UInt64(bitPattern: time.seconds))
      result.integer(2, UInt64(bitPattern: Int64(time.nanos)))
    case "google.protobuf.Duration":
      guard let time = try? ProtoDuration(jsonUTF8: slice) else { throw Self.fault(type) }
      result.integer(1, UInt64(bitPattern: time.seconds))
      result.integer(2, UInt64(bitPattern: Int64(time.nanos)))
    case "google.protobuf.FieldMask":
      guard let mask = try? ProtoFieldMask(jsonUTF8: slice) else { throw Self.fault(type) }
      for path in mask.paths { result.blob(1, Array(path.utf8)) }
    case "google.protobuf.Any": throw Self.fault(type)
    case "google.protobuf.Struct":
      guard let fields = index.messages[type]?.fields.first else { throw Self.fault(type) }
      try add(map: range, fields, depth: depth, to: &result)
    case "google.protobuf.ListValue":
      guard let values = index.messages[type]?.fields.first, let elements = RawJSON.elements(json, range) else {
        throw Self.fault(type)
      }
      for element in elements { try add(element, values, depth: depth, to: &result) }
    case "google.protobuf.Value": return try value(range, depth: depth)
    case let name where ProtobufToJSON.wrappers.contains(name):
      guard let field = index.messages[type]?.fields.first else { throw Self.fault(type) }
      try add(range, field, depth: depth, to: &result)
    default: return nil
    }
    return result
  }

  /// Converts a google.protobuf.Value; the type of the JSON value selects its field.
  private func value(_ range: Range<Int>, depth: Int) throws(RPCError) -> ProtobufBytes {
    guard let first = json[range].first, let schema = index.messages["google.protobuf.Value"] else {
      throw Self.fault("value")
    }
    let name =
      switch first {
      case UInt8(ascii: "n"): "null_value"
      case UInt8(ascii: "\""): "string_value"
      case UInt8(ascii: "t"), UInt8(ascii: "f"): "bool_value"
      case UInt8(ascii: "{"): "struct_value"
      case UInt8(ascii: "["): "list_value"
      default: "number_value"
      }
    guard let field = schema.field(name) else { throw Self.fault("value") }
    var result = ProtobufBytes()
    if name == "null_value" { result.varint(field.number, 0) } else { try add(range, field, depth: depth, to: &result) }
    return result
  }
}
