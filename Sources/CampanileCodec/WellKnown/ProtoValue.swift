/// `google.protobuf.Value`: any JSON value, stored as its original text.
///
/// Two values are equal if their texts are: `1.0` differs from `1`, and the order of members matters.
public struct ProtoValue: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.Value" }

  /// One JSON value, checked when it was decoded or created.
  public private(set) var json: String

  /// Creates the JSON value `null`.
  public init() {
    json = "null"
  }

  /// Creates a value from its JSON text.
  ///
  /// - Throws: `ProtoJSONError` if the text is not one JSON value, or if an object in it contains a key twice.
  public init(json: String) throws(ProtoJSONError) {
    try self.init(jsonString: json)
  }

  /// Creates a JSON string with this content.
  public init(string: String) {
    var writer = JSONWriter()
    writer.string(string)
    json = writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Reads one value of any type, including `null`, and stores its text.
  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    json = try reader.rawValue()
  }

  public func encode(to writer: inout JSONWriter) {
    writer.append(raw: json)
  }
}

/// `google.protobuf.Struct`: a JSON object, stored as its original text. Values are equal if their texts are.
public struct ProtoStruct: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.Struct" }

  /// One JSON object, checked when it was decoded or created, except by `init(verified:)`.
  public private(set) var json: String

  /// Creates an empty object.
  public init() {
    json = "{}"
  }

  /// Creates an object from its JSON text.
  ///
  /// - Throws: `ProtoJSONError` if the text is not one JSON object, or if an object in it contains a key twice.
  public init(json: String) throws(ProtoJSONError) {
    try self.init(jsonString: json)
  }

  /// Creates an object from text that was checked before, for example by the store it comes from. The caller guarantees
  /// its validity.
  public init(verified json: String) { self.json = json }

  /// Reads one object and stores its text.
  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    guard reader.peek() == UInt8(ascii: "{") else { throw reader.wrongType("an object") }
    json = try reader.rawValue()
  }

  public func encode(to writer: inout JSONWriter) {
    writer.append(raw: json)
  }
}

/// `google.protobuf.ListValue`: a JSON array, stored as its original text. Values are equal if their texts are.
public struct ProtoListValue: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.ListValue" }

  /// One JSON array, checked when it was decoded or created.
  public private(set) var json: String

  /// Creates an empty array.
  public init() {
    json = "[]"
  }

  /// Creates an array from its JSON text.
  ///
  /// - Throws: `ProtoJSONError` if the text is not one JSON array, or if an object in it contains a key twice.
  public init(json: String) throws(ProtoJSONError) {
    try self.init(jsonString: json)
  }

  /// Reads one array and stores its text.
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
  public mutating func nullValue() throws(ProtoJSONError) -> ProtoNullValue {
    try null() ? .nullValue : try enumeration(ProtoNullValue.self)
  }
}

extension JSONWriter {
  /// Writes `null`, or the number of an unknown value.
  public mutating func nullValue(_ value: ProtoNullValue) {
    if value == .nullValue { append(raw: "null") } else { int32(value.rawValue) }
  }
}
