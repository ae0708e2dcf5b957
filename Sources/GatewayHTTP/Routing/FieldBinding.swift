import CampanileBase
import CampanileCodec
import CampanileRPC

/// Converts text from path, query and headers to fields of a request.
struct FieldBinding: Sendable {
  let index: SchemaIndex
  let request: MessageSchema
  static let pathDepthMax = 8

  /// Messages that ProtoJSON writes as strings.
  private static let textMessages: Set<String> = [
    "google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.FieldMask",
    "google.protobuf.StringValue", "google.protobuf.BytesValue", "google.protobuf.Int64Value",
    "google.protobuf.UInt64Value", "google.protobuf.Int32Value", "google.protobuf.UInt32Value",
    "google.protobuf.DoubleValue", "google.protobuf.FloatValue",
  ]

  /// Adds one value to `tree`.
  ///
  /// - Throws: INVALID_ARGUMENT for the field: `FIELD_UNKNOWN` if the request does not have it, or `FIELD_NOT_BINDABLE`
  ///   if its type has no text form. `FIELD_INVALID` for invalid text, `FIELD_TWICE` for a second value.
  func bind(_ path: [String], _ text: String, into tree: inout ParamsTree) throws(RPCError) {
    let label = path.joined(separator: ".")
    let fields = try resolve(path, label)
    guard let last = fields.last else { throw fault(label, "the name is empty", "FIELD_UNKNOWN") }
    let json = try json(text, last.kind, label)
    guard tree.bind(fields[...], json) else { throw fault(label, "it is given twice", "FIELD_TWICE") }
  }

  /// Returns the fields along a path such as `notification.id`.
  func resolve(_ path: [String], _ label: String) throws(RPCError) -> [FieldSchema] {
    guard path.count <= Self.pathDepthMax else { throw fault(label, "it is nested too deeply", "FIELD_UNKNOWN") }
    var fields: [FieldSchema] = []
    var message: MessageSchema? = request
    for name in path {
      guard let field = message?.field(name) else {
        throw fault(label, "the request has no such field", "FIELD_UNKNOWN")
      }
      fields.append(field)
      message = nil
      if case .message(let type) = field.kind, !field.isRepeated { message = index.messages[type] }
    }
    return fields
  }

  private func json(_ text: String, _ kind: FieldSchema.Kind, _ label: String) throws(RPCError) -> String {
    switch kind {
    case .string, .bytes: return Self.quoted(text)
    case .bool: return try boolean(text, label)
    // ProtoJSON also accepts numbers as strings; the service checks their values.
    case .int32, .uint32, .int64, .uint64, .float, .double: return try number(text, label)
    case .enumeration:
      if let number = Int32(text) { return String(number) }
      return Self.quoted(text)
    case .message("google.protobuf.BoolValue"): return try boolean(text, label)
    case .message(let name):
      guard Self.textMessages.contains(name) else {
        throw fault(label, "a value of this type cannot be given in a URL", "FIELD_NOT_BINDABLE")
      }
      return Self.quoted(text)
    case .map: throw fault(label, "a map cannot be given in a URL", "FIELD_NOT_BINDABLE")
    }
  }

  private func boolean(_ text: String, _ label: String) throws(RPCError) -> String {
    guard text == "true" || text == "false" else { throw fault(label, "it is neither true nor false", "FIELD_INVALID") }
    return text
  }

  private func number(_ text: String, _ label: String) throws(RPCError) -> String {
    let isPlain =
      !text.isEmpty && text.utf8.count <= 32
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eEINafinty".utf8.contains($0) }
    guard isPlain else { throw fault(label, "it is not a number", "FIELD_INVALID") }
    return Self.quoted(text)
  }

  static func quoted(_ text: String) -> String {
    var writer = JSONWriter(capacity: text.utf8.count + 16)
    writer.string(text)
    return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  private func fault(_ label: String, _ why: String, _ reason: String) -> RPCError {
    var error = RPCError.invalidField(String(label.prefix(128)), why, reason: reason)
    error.processed = false
    return error
  }
}
