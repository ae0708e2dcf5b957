import CampanileBase
import CampanileCodec
import CampanileRPC

/// Converts a message from protobuf's binary form to ProtoJSON, by its descriptor. Fields that the descriptor lacks are
/// left out, as is usual in protobuf.
struct ProtobufToJSON {
  let index: SchemaIndex
  let bytes: UnsafeRawBufferPointer
  static let depthMax = 60
  private static let secondsOfTimestamp: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
  private static let secondsOfDuration: ClosedRange<Int64> = -315_576_000_000...315_576_000_000

  /// Converts a message of the given type.
  ///
  /// - Throws: INVALID_ARGUMENT with `BODY_NOT_PROTOBUF` for bytes that do not match the type, `BODY_TOO_DEEP`, or
  ///   `TYPE_UNSUPPORTED` for google.protobuf.Any and messages without a descriptor.
  static func convert(_ bytes: UnsafeRawBufferPointer, _ type: String, _ index: SchemaIndex) throws(RPCError) -> [UInt8]
  {
    var writer = JSONWriter(capacity: bytes.count * 2 + 64)
    try ProtobufToJSON(index: index, bytes: bytes).write([0..<bytes.count], type, depth: 0, to: &writer)
    return writer.withUnsafeBytes { [UInt8]($0) }
  }

  private typealias Found = [UInt64: [ProtobufReader.Value]]

  /// Writes one message.
  ///
  /// - Parameter parts: Parts of the message, which are merged.
  private func write(
    _ parts: [Range<Int>], _ type: String, depth: Int, to writer: inout JSONWriter
  ) throws(RPCError) {
    guard depth < Self.depthMax else {
      throw RPCError(.invalidArgument, "the message is nested too deeply", reason: "BODY_TOO_DEEP", processed: false)
    }
    guard let schema = index.messages[type], type != "google.protobuf.Any" else {
      throw RPCError(
        .invalidArgument, "\(type) is not supported as protobuf", reason: "TYPE_UNSUPPORTED", processed: false)
    }
    var found: Found = [:]
    var chosen: [Int32: UInt64] = [:]
    for part in parts {
      var reader = ProtobufReader(bytes, part)
      while let (number, value) = try reader.next() {
        // The last of several fields of a oneof counts.
        if let oneof = schema.oneofs[number], let before = chosen.updateValue(number, forKey: oneof), before != number {
          found[before] = nil
        }
        found[number, default: []].append(value)
      }
    }
    if try writeWellKnown(type, found, depth: depth, to: &writer) { return }
    let object = writer.beginObject()
    for field in schema.fields {
      guard let values = found[field.number] else { continue }
      writer.key(field.jsonName)
      if field.entry.count == 2 {
        try writeMap(field, values, depth: depth, to: &writer)
      } else if field.isRepeated {
        try writeList(field, values, depth: depth, to: &writer)
      } else {
        try writeValue(field, values, depth: depth, to: &writer)
      }
    }
    writer.endObject(object)
  }

  private func writeList(
    _ field: FieldSchema, _ values: [ProtobufReader.Value], depth: Int, to writer: inout JSONWriter
  ) throws(RPCError) {
    let array = writer.beginArray()
    for value in values {
      if case .bytes(let range) = value, field.wire != .lengthDelimited {
        // A packed field.
        var reader = ProtobufReader(bytes, range)
        while !reader.isAtEnd {
          let item = try field.wire.read(&reader)
          writer.nextElement()
          try writeValue(field, [item], depth: depth, to: &writer)
        }
      } else {
        writer.nextElement()
        try writeValue(field, [value], depth: depth, to: &writer)
      }
    }
    writer.endArray(array)
  }

  private func writeMap(
    _ field: FieldSchema, _ values: [ProtobufReader.Value], depth: Int, to writer: inout JSONWriter
  ) throws(RPCError) {
    // The last entry of a key counts. Keys are compared as bytes, because Swift strings with different bytes can be
    // equal.
    var order: [[UInt8]] = []
    var entries: [[UInt8]: [ProtobufReader.Value]] = [:]
    for value in values {
      guard case .bytes(let range) = value else { throw ProtobufReader.invalid(0) }
      var reader = ProtobufReader(bytes, range)
      var parts: [UInt64: ProtobufReader.Value] = [:]
      while let (number, part) = try reader.next() { parts[number] = part }
      // A key with the default value may be absent.
      var text = JSONWriter()
      try writeValue(field.entry[0], parts[1].map { [$0] } ?? [], depth: depth, to: &text)
      let key = text.withUnsafeBytes { [UInt8]($0) }
      if entries[key] == nil { order.append(key) }
      entries[key] = parts[2].map { [$0] } ?? []
    }
    let object = writer.beginObject()
    for key in order {
      // Strings and 64-bit integers are already quoted. Other integers and booleans are quoted here.
      let quote = key.first == UInt8(ascii: "\"") ? "" : "\""
      writer.append(raw: ",\(quote)\(String(decoding: key, as: UTF8.self))\(quote):")
      try writeValue(field.entry[1], entries[key] ?? [], depth: depth, to: &writer)
    }
    writer.endObject(object)
  }

  /// Writes the last of `values`, or all of them merged for a message. Without values, writes the default.
  private func writeValue(
    _ field: FieldSchema, _ values: [ProtobufReader.Value], depth: Int, to writer: inout JSONWriter
  ) throws(RPCError) {
    if case .message(let type) = field.kind {
      var parts: [Range<Int>] = []
      for value in values {
        guard case .bytes(let range) = value else { throw ProtobufReader.invalid(0) }
        parts.append(range)
      }
      return try write(parts, type, depth: depth + 1, to: &writer)
    }
    switch (values.last ?? field.wire.zero, field.wire) {
    case (.bytes(let range), .lengthDelimited): try writeText(field, range, to: &writer)
    case (.varint(let raw), .varint): writeInteger(field.kind, raw, to: &writer)
    case (.varint(let raw), .zigzag):
      writeInteger(
        field.kind, UInt64(bitPattern: Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)), to: &writer)
    case (.fixed64(let raw), .fixed64):
      if field.kind == .double {
        writer.double(Double(bitPattern: raw))
      } else {
        writeInteger(field.kind, raw, to: &writer)
      }
    case (.fixed32(let raw), .fixed32):
      if field.kind == .float {
        writer.float(Float(bitPattern: raw))
      } else {
        writeInteger(field.kind, UInt64(raw), to: &writer)
      }
    default: throw ProtobufReader.invalid(0)
    }
  }

  private func writeText(_ field: FieldSchema, _ range: Range<Int>, to writer: inout JSONWriter) throws(RPCError) {
    let slice = UnsafeRawBufferPointer(rebasing: bytes[range])
    if field.kind == .bytes { return writer.bytes([UInt8](slice)) }
    guard let text = String(validating: slice, as: UTF8.self) else { throw ProtobufReader.invalid(range.lowerBound) }
    writer.string(text)
  }

  private func writeInteger(_ kind: FieldSchema.Kind, _ raw: UInt64, to writer: inout JSONWriter) {
    switch kind {
    case .bool: writer.bool(raw != 0)
    case .uint32: writer.uint32(UInt32(truncatingIfNeeded: raw))
    case .int64: writer.int64(Int64(bitPattern: raw))
    case .uint64: writer.uint64(raw)
    case .enumeration(let name):
      let number = Int32(truncatingIfNeeded: raw)
      if let known = index.enums[name]?.first(where: { $0.number == number }) {
        writer.string(known.name)
      } else {
        writer.int32(number)
      }
    default: writer.int32(Int32(truncatingIfNeeded: raw))
    }
  }

  // MARK: well-known types

  private func writeWellKnown(
    _ type: String, _ found: Found, depth: Int, to writer: inout JSONWriter
  ) throws(RPCError) -> Bool {
    switch type {
    case "google.protobuf.Timestamp":
      let (seconds, nanos) = try time(found, Self.secondsOfTimestamp, 0...999_999_999)
      ProtoTimestamp(seconds: seconds, nanos: nanos).encode(to: &writer)
    case "google.protobuf.Duration":
      let (seconds, nanos) = try time(found, Self.secondsOfDuration, -999_999_999...999_999_999)
      guard seconds == 0 || nanos == 0 || (seconds < 0) == (nanos < 0) else { throw ProtobufReader.invalid(0) }
      ProtoDuration(seconds: seconds, nanos: nanos).encode(to: &writer)
    case "google.protobuf.FieldMask": try writeFieldMask(found, to: &writer)
    case "google.protobuf.Struct":
      if let fields = index.messages[type]?.fields.first {
        try writeMap(fields, found[1] ?? [], depth: depth, to: &writer)
      }
    case "google.protobuf.ListValue":
      if let values = index.messages[type]?.fields.first {
        try writeList(values, found[1] ?? [], depth: depth, to: &writer)
      }
    case "google.protobuf.Value": try writeAnyValue(found, depth: depth, to: &writer)
    case let name where Self.wrappers.contains(name):
      if let value = index.messages[type]?.fields.first {
        try writeValue(value, found[1] ?? [], depth: depth, to: &writer)
      }
    default: return false
    }
    return true
  }

  static let wrappers: Set<String> = Set(
    ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"].map {
      "google.protobuf.\($0)Value"
    })

  private func time(
    _ found: Found, _ secondsRange: ClosedRange<Int64>, _ nanosRange: ClosedRange<Int64>
  ) throws(RPCError) -> (Int64, Int32) {
    var seconds: Int64 = 0
    var nanos: Int64 = 0
    if case .varint(let raw)? = found[1]?.last { seconds = Int64(bitPattern: raw) }
    if case .varint(let raw)? = found[2]?.last { nanos = Int64(bitPattern: raw) }
    guard secondsRange.contains(seconds), nanosRange.contains(nanos) else { throw ProtobufReader.invalid(0) }
    return (seconds, Int32(nanos))
  }

  private func writeFieldMask(_ found: Found, to writer: inout JSONWriter) throws(RPCError) {
    var paths: [String] = []
    for value in found[1] ?? [] {
      guard case .bytes(let range) = value,
        let path = String(validating: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
      else { throw ProtobufReader.invalid(0) }
      paths.append(path)
    }
    ProtoFieldMask(paths: paths).encode(to: &writer)
  }

  /// Writes the single field of a Value; null if it has none.
  private func writeAnyValue(_ found: Found, depth: Int, to writer: inout JSONWriter) throws(RPCError) {
    let field = index.messages["google.protobuf.Value"]?.fields.last { found[$0.number] != nil }
    guard let field, field.number != 1, let values = found[field.number] else { return writer.append(raw: "null") }
    if field.kind == .double, case .fixed64(let raw)? = values.last, !Double(bitPattern: raw).isFinite {
      throw ProtobufReader.invalid(0)
    }
    try writeValue(field, values, depth: depth, to: &writer)
  }
}
