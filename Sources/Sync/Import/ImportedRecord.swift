import CampanileBase
import CampanileCodec
import CampanileJSON
import CampanileService

/// A record of the shape that the apps used before they had files, as the record of a file.
///
/// The apps stored one CloudKit record for each bucket (`Bucket`) and notification (`Notification`), named by its id.
/// An empty text stands for no text. `attachments`, `actions` and `tapAction` are JSON in texts.
struct ImportedRecord: Sendable, Hashable {
  var container: Container
  var id: String
  /// The record as the file contains it.
  var value: JSONValue

  /// Reads a record. Returns nil for a record that was deleted.
  ///
  /// - Parameter path: The path of the record, for errors.
  /// - Throws: INVALID_ARGUMENT with all violations.
  init?(_ record: JSONValue, path: String) throws(RPCError) {
    if case .bool(true)? = record["deleted"] { return nil }
    guard case .object = record else { throw .invalidField(path, "must be an object", .valueInvalid) }
    guard let id = record["recordName"]?.text, !id.isEmpty else {
      throw .invalidField("\(path).recordName", "must be a text that is not empty", .required)
    }
    let container: Container
    switch record["recordType"]?.text {
    case "Bucket": container = .buckets
    case "Notification": container = .notifications
    default: throw .invalidField("\(path).recordType", "must be Bucket or Notification", .enumUnknown)
    }
    var reader = FieldReader(fields: record["fields"] ?? .object(JSONObject()), path: "\(path).fields")
    switch container {
    case .buckets: reader.readBucket()
    case .notifications: reader.readNotification()
    }
    reader.object.members.insert(.init(name: JSONString("id"), value: .string(id)), at: 0)
    try reader.violations.check()
    self.id = id
    self.container = container
    value = .object(reader.object)
  }

  /// When it was created, in milliseconds since 1970.
  var createdMs: Int64 {
    value["createdAt"]?.text.flatMap { RecordValue.time($0) }?.millisecondsSince1970 ?? 0
  }
}

/// Reads the fields of one record, and collects what is wrong.
private struct FieldReader {
  let fields: JSONValue
  let path: String
  var object = JSONObject()
  var violations = Violations()

  mutating func readBucket() {
    text("name", isRequired: true)
    for name in ["description", "color", "iconUrl"] { text(name) }
    time("createdAt", isRequired: true)
    time("updatedAt", isRequired: true)
  }

  mutating func readNotification() {
    text("title", isRequired: true)
    text("subtitle")
    text("body")
    time("readAt")
    time("sentAt")
    time("createdAt", isRequired: true)
    time("updatedAt", isRequired: true)
    text("bucketId", isRequired: true)
    list("attachments") { reader, value, path in
      reader.part(value, path, required: ["mediaType"], optional: ["url", "name"], isAction: false)
    }
    list("actions") { reader, value, path in reader.action(value, path) }
    guard let value = field("tapAction"), let nested = nested(value, "tapAction") else { return }
    if let action = action(nested, "\(path).tapAction") { object["tapAction"] = action }
  }

  /// Returns the value of a field; nil if it is absent, null, or an empty text.
  private func field(_ name: String) -> JSONValue? {
    var value = fields[name]
    if case .object(let wrapped)? = value, let inner = wrapped["value"] { value = inner }
    if case .null? = value { return nil }
    if let text = value?.text, text.isEmpty { return nil }
    return value
  }

  private mutating func text(_ name: String, isRequired: Bool = false) {
    switch field(name) {
    case .string(let text)?: object[name] = .string(text)
    case nil: if isRequired { violations.add("\(path).\(name)", "must be given", .required) }
    default: violations.add("\(path).\(name)", "must be a text", .valueInvalid)
    }
  }

  private mutating func time(_ name: String, isRequired: Bool = false) {
    guard let value = field(name) else {
      if isRequired { violations.add("\(path).\(name)", "must be given", .required) }
      return
    }
    guard let text = RecordValue.timeText(value) else {
      return violations.add("\(path).\(name)", "must be milliseconds since 1970 or an RFC 3339 time", .timeInvalid)
    }
    object[name] = .string(text)
  }

  private mutating func nested(_ value: JSONValue, _ name: String) -> JSONValue? {
    guard let nested = RecordValue.nested(value) else {
      violations.add("\(path).\(name)", "must be JSON, or a text with JSON", .jsonInvalid)
      return nil
    }
    return nested
  }

  private mutating func list(
    _ name: String, _ read: (inout FieldReader, JSONValue, String) -> JSONValue?
  ) {
    object[name] = .array([])
    guard let value = field(name), let nested = nested(value, name) else { return }
    guard let elements = nested.elements else {
      return violations.add("\(path).\(name)", "must be an array", .valueInvalid)
    }
    var made: [JSONValue] = []
    for (index, element) in elements.enumerated() {
      if let part = read(&self, element, "\(path).\(name)[\(index)]") { made.append(part) }
    }
    object[name] = .array(made)
  }

  private mutating func action(_ value: JSONValue, _ path: String) -> JSONValue? {
    part(value, path, required: ["type"], optional: ["value", "title", "icon"], isAction: true)
  }

  /// Reads an attachment or an action. An action without `destructive` is not destructive.
  private mutating func part(
    _ value: JSONValue, _ path: String, required: [String], optional: [String], isAction: Bool
  ) -> JSONValue? {
    guard case .object(let source) = value else {
      violations.add(path, "must be an object", .valueInvalid)
      return nil
    }
    var made = JSONObject()
    for name in required + optional {
      switch source[name] {
      case .string(let text)?: made[name] = .string(text)
      case nil, .null?:
        if required.contains(name) { violations.add("\(path).\(name)", "must be given", .required) }
      default: violations.add("\(path).\(name)", "must be a text", .valueInvalid)
      }
    }
    guard isAction else { return .object(made) }
    switch source["destructive"] {
    case .bool(let flag)?: made["destructive"] = .bool(flag)
    case nil, .null?: made["destructive"] = .bool(false)
    default: violations.add("\(path).destructive", "must be true or false", .valueInvalid)
    }
    return .object(made)
  }
}
