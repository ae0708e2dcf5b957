/// `google.protobuf.DoubleValue`: an optional `double`; in JSON the bare value.
public struct ProtoDoubleValue: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.DoubleValue" }

  public var value: Double = 0

  public init() {}

  public init(_ value: Double) { self.value = value }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) { value = try reader.double() }

  public func encode(to writer: inout JSONWriter) { writer.double(value) }
}

/// `google.protobuf.FloatValue`: an optional `float`; in JSON the bare value.
public struct ProtoFloatValue: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.FloatValue" }

  public var value: Float = 0

  public init() {}

  public init(_ value: Float) { self.value = value }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) { value = try reader.float() }

  public func encode(to writer: inout JSONWriter) { writer.float(value) }
}

/// `google.protobuf.Int64Value`: an optional `int64`; in JSON the bare value.
public struct ProtoInt64Value: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.Int64Value" }

  public var value: Int64 = 0

  public init() {}

  public init(_ value: Int64) { self.value = value }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) { value = try reader.int64() }

  public func encode(to writer: inout JSONWriter) { writer.int64(value) }
}

/// `google.protobuf.UInt64Value`: an optional `uint64`; in JSON the bare value.
public struct ProtoUInt64Value: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.UInt64Value" }

  public var value: UInt64 = 0

  public init() {}

  public init(_ value: UInt64) { self.value = value }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) { value = try reader.uint64() }

  public func encode(to writer: inout JSONWriter) { writer.uint64(value) }
}

/// `google.protobuf.Int32Value`: an optional `int32`; in JSON the bare value.
public struct ProtoInt32Value: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.Int32Value" }

  public var value: Int32 = 0

  public init() {}

  public init(_ value: Int32) { self.value = value }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) { value = try reader.int32() }

  public func encode(to writer: inout JSONWriter) { writer.int32(value) }
}

/// `google.protobuf.UInt32Value`: an optional `uint32`; in JSON the bare value.
public struct ProtoUInt32Value: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.UInt32Value" }

  public var value: UInt32 = 0

  public init() {}

  public init(_ value: UInt32) { self.value = value }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) { value = try reader.uint32() }

  public func encode(to writer: inout JSONWriter) { writer.uint32(value) }
}

/// `google.protobuf.BoolValue`: an optional `bool`; in JSON the bare value.
public struct ProtoBoolValue: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.BoolValue" }

  public var value: Bool = false

  public init() {}

  public init(_ value: Bool) { self.value = value }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) { value = try reader.bool() }

  public func encode(to writer: inout JSONWriter) { writer.bool(value) }
}

/// `google.protobuf.StringValue`: an optional `string`; in JSON the bare value.
public struct ProtoStringValue: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.StringValue" }

  public var value: String = ""

  public init() {}

  public init(_ value: String) { self.value = value }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) { value = try reader.string() }

  public func encode(to writer: inout JSONWriter) { writer.string(value) }
}

/// `google.protobuf.BytesValue`: optional `bytes`; in JSON the bare value.
public struct ProtoBytesValue: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.BytesValue" }

  public var value: [UInt8] = []

  public init() {}

  public init(_ value: [UInt8]) { self.value = value }

  public init(from reader: inout JSONReader) throws(ProtoJSONError) { value = try reader.bytes() }

  public func encode(to writer: inout JSONWriter) { writer.bytes(value) }
}

/// `google.protobuf.Empty`: a message without fields.
public struct ProtoEmpty: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.Empty" }

  public init() {}

  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    var more = try reader.beginObject()
    while more {
      _ = try reader.key()
      try reader.skipValue()
      more = try reader.nextMember()
    }
  }

  public func encode(to writer: inout JSONWriter) { writer.append(raw: "{}") }
}
