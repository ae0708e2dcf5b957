import CampanileAPI
import CampanileCodec
import CampanileJSON
import CampanileService

/// The form of messages that the apps encode and decode: `{"type":"notificationRead","entityId":"…","timestamp":"…"}`.
/// A message without an entity has no `entityId`.
enum AppMessage {
  private static let names: [(SyncUpdateType, String)] = [
    (.notificationRead, "notificationRead"), (.notificationDeleted, "notificationDeleted"),
    (.bucketCreated, "bucketCreated"), (.bucketUpdated, "bucketUpdated"), (.bucketDeleted, "bucketDeleted"),
    (.fullSync, "fullSync"),
  ]

  static func json(_ message: SyncUpdateMessage) -> String {
    var writer = JSONWriter(capacity: 160)
    writer.append(raw: "{\"type\":")
    writer.string(names.first { $0.0 == message.type }?.1 ?? "fullSync")
    if !message.entityId.isEmpty {
      writer.append(raw: ",\"entityId\":")
      writer.string(message.entityId)
    }
    writer.append(raw: ",\"timestamp\":")
    (message.eventTime ?? ProtoTimestamp()).encode(to: &writer)
    writer.append(UInt8(ascii: "}"))
    return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Reads a message. Other members are ignored, and null counts as missing.
  ///
  /// - Parameter field: The path of the text in the request; errors name the member behind it.
  static func message(_ text: String, _ field: String, _ violations: inout Violations) -> SyncUpdateMessage {
    var message = SyncUpdateMessage()
    let object: JSONValue
    do {
      object = try JSONValue.parse(text)
    } catch {
      violations.add(field, "is not valid JSON: \(error.message)", .jsonInvalid)
      return message
    }
    if let name = self.text(object, "type", field, isRequired: true, &violations) {
      if let type = names.first(where: { $0.1 == name })?.0 {
        message.type = type
      } else {
        violations.add(
          "\(field).type", "must be one of \(names.map(\.1).joined(separator: ", "))", .enumUnknown)
      }
    }
    message.entityId = self.text(object, "entityId", field, isRequired: false, &violations) ?? ""
    if message.entityId.unicodeScalars.count > 128 {
      violations.add("\(field).entityId", "must have at most 128 characters", .tooLong)
    }
    if let time = self.text(object, "timestamp", field, isRequired: true, &violations) {
      message.eventTime = RecordValue.time(time)
      if message.eventTime == nil { violations.add("\(field).timestamp", "must be an RFC 3339 time", .timeInvalid) }
    }
    return message
  }

  private static func text(
    _ object: JSONValue, _ name: String, _ field: String, isRequired: Bool, _ violations: inout Violations
  ) -> String? {
    switch object[name] {
    case .string(let text)?: return text.value
    case nil, .null?:
      if isRequired { violations.add("\(field).\(name)", "must be given", .required) }
    default: violations.add("\(field).\(name)", "must be a string", .valueInvalid)
    }
    return nil
  }
}
