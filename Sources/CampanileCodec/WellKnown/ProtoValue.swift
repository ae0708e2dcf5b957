/// `google.protobuf.Value`: any JSON value, kept as the text it was read from.
///
/// Two values are equal when their texts are: `1.0` differs from `1`, and the order of members counts.
public struct ProtoValue: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.Value" }

  /// One JSON value. What was read is valid; whoever sets it otherwise goes through `init(json:)`.
  public private(set) var json: String

  /// The JSON `null`.
  public init() {
    json = "null"
  }

  /// A value from its JSON text.
  ///
  /// - Throws: `ProtoJSONError` if the text is not one JSON value, or an object in it has a key twice.
  public init(json: String) throws(ProtoJSONError) {
    try self.init(jsonString: json)
  }

  /// A JSON string with this content.
  public init(string: String) {
    var writer = JSONWriter()
    writer.string(string)
    json = writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Reads one value of any type, `null` as well, and keeps its text.
  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    json = try reader.rawValue()
  }

  public func encode(to writer: inout JSONWriter) {
    writer.append(raw: json)
  }
}

/// `google.protobuf.Struct`: a JSON object, kept as the text it was read from. Equality is that of the texts.
public struct ProtoStruct: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.Struct" }

  /// One JSON object. What was read is valid; whoever sets it otherwise goes through `init(json:)`.
  public private(set) var json: String

  /// The empty object.
  public init() {
    json = "{}"
  }

  /// An object from its JSON text.
  ///
  /// - Throws: `ProtoJSONError` if the text is not one JSON object, or an object in it has a key twice.
  public init(json: String) throws(ProtoJSONError) {
    try self.init(jsonString: json)
  }

  /// An object whose text was checked before, such as one that comes back from a store: whoever calls vouches for it.
  public init(verified json: String) { self.json = json }

  /// Reads one object and keeps its text.
  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    guard reader.peek() == UInt8(ascii: "{") else { throw reader.wrongType("an object") }
    json = try reader.rawValue()
  }

  public func encode(to writer: inout JSONWriter) {
    writer.append(raw: json)
  }
}

/// `google.protobuf.ListValue`: a JSON array, kept as the text it was read from. Equality is that of the texts.
public struct ProtoListValue: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.ListValue" }

  /// One JSON array. What was read is valid; whoever sets it otherwise goes through `init(json:)`.
  public private(set) var json: String

  /// The empty array.
  public init() {
    json = "[]"
  }

  /// An array from its JSON text.
  ///
  /// - Throws: `ProtoJSONError` if the text is not one JSON array, or an object in it has a key twice.
  public init(json: String) throws(ProtoJSONError) {
    try self.init(jsonString: json)
  }

  /// Reads one array and keeps its text.
  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    guard reader.peek() == UInt8(ascii: "[") else { throw reader.wrongType("an array") }
    json = try reader.rawValue()
  }

  public func encode(to writer: inout JSONWriter) {
    writer.append(raw: json)
  }
}

/// `google.protobuf.NullValue`: the only value is JSON's `null`.
public enum ProtoNullValue: ProtoEnum {
  case nullValue
  case unrecognized(Int32)

  public init() { self = .nullValue }

  public init(rawValue: Int32) { self = rawValue == 0 ? .nullValue : .unrecognized(rawValue) }

  public var rawValue: Int32 {
    switch self {
    case .nullValue: 0
    case .unrecognized(let number): number
    }
  }

  public var protoName: StaticString? { self == .nullValue ? "NULL_VALUE" : nil }

  public static func number(named name: JSONName) -> Int32? {
    name.count == 10 && name.matches("NULL_VALUE") ? 0 : nil
  }
}

extension JSONReader {
  /// Reads `null`, `"NULL_VALUE"` or a number.
  public mutating func nullValue() throws(ProtoJSONError) -> ProtoNullValue? {
    try null() ? .nullValue : try enumeration(ProtoNullValue.self)
  }
}

extension JSONWriter {
  /// Writes `null`, or the number of an unknown value.
  public mutating func nullValue(_ value: ProtoNullValue) {
    if value == .nullValue { append(raw: "null") } else { int32(value.rawValue) }
  }
}
