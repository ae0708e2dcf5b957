public import CampanileCodec

/// A scalar type of proto in a list or a map.
public protocol FieldScalar: Sendable, Hashable {
  static func read(from reader: inout JSONReader) throws(ProtoJSONError) -> Self
  func write(to writer: inout JSONWriter)
}

extension String: FieldScalar {
  public static func read(from reader: inout JSONReader) throws(ProtoJSONError) -> Self { try reader.string() }
  public func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension [UInt8]: FieldScalar {
  public static func read(from reader: inout JSONReader) throws(ProtoJSONError) -> Self { try reader.bytes() }
  public func write(to writer: inout JSONWriter) { writer.bytes(self) }
}

extension Bool: FieldScalar {
  public static func read(from reader: inout JSONReader) throws(ProtoJSONError) -> Self { try reader.bool() }
  public func write(to writer: inout JSONWriter) { writer.bool(self) }
}

extension Int32: FieldScalar {
  public static func read(from reader: inout JSONReader) throws(ProtoJSONError) -> Self { try reader.int32() }
  public func write(to writer: inout JSONWriter) { writer.int32(self) }
}

extension Int64: FieldScalar {
  public static func read(from reader: inout JSONReader) throws(ProtoJSONError) -> Self { try reader.int64() }
  public func write(to writer: inout JSONWriter) { writer.int64(self) }
}

extension UInt32: FieldScalar {
  public static func read(from reader: inout JSONReader) throws(ProtoJSONError) -> Self { try reader.uint32() }
  public func write(to writer: inout JSONWriter) { writer.uint32(self) }
}

extension UInt64: FieldScalar {
  public static func read(from reader: inout JSONReader) throws(ProtoJSONError) -> Self { try reader.uint64() }
  public func write(to writer: inout JSONWriter) { writer.uint64(self) }
}

extension Double: FieldScalar {
  public static func read(from reader: inout JSONReader) throws(ProtoJSONError) -> Self { try reader.double() }
  public func write(to writer: inout JSONWriter) { writer.double(self) }
}

extension Float: FieldScalar {
  public static func read(from reader: inout JSONReader) throws(ProtoJSONError) -> Self { try reader.float() }
  public func write(to writer: inout JSONWriter) { writer.float(self) }
}
