import APNs
import CampanileAPI
import CampanileCodec
import CampanileService

/// Validation of broadcasts ("Sending broadcast push notification requests to APNs"), and the format of channel lists
/// ("Sending channel management requests to APNs"). Pure.
enum BroadcastRules {
  /// Returns whether `text` can be a channel id: base64, as APNs issues them.
  static func isChannelID(_ text: String) -> Bool {
    (1...APNsLimits.channelIDBytesMax).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default:
          [UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="), UInt8(ascii: "-"), UInt8(ascii: "_")].contains(byte)
        }
      }
  }

  /// Validates a payload: an `aps` whose event is update or end, and at most 5,120 bytes.
  static func check(_ payload: [UInt8], _ field: String, _ violations: inout Violations) {
    let excess = payload.count - APNsLimits.largePayloadBytesMax
    if excess > 0 {
      violations.add(
        field, "has \(excess) bytes more than the limit of \(APNsLimits.largePayloadBytesMax)", .payloadTooLong)
    }
    let event = event(of: payload)
    guard event == LiveActivityEvent.update.rawValue || event == LiveActivityEvent.end.rawValue else {
      return violations.add(field, "needs an aps whose event is update or end", .payloadInvalid)
    }
  }

  /// Returns `aps.event`, or nil if there is none.
  private static func event(of payload: [UInt8]) -> String? {
    let result = payload.withUnsafeBytes { bytes in
      Result { () throws(ProtoJSONError) in
        try member("aps", of: bytes) { reader throws(ProtoJSONError) in try event(&reader) }
      }
    }
    return (try? result.get()) ?? nil
  }

  private static func event(_ reader: inout JSONReader) throws(ProtoJSONError) -> String? {
    var found: String?
    guard try reader.beginObject() else { return nil }
    repeat {
      if try reader.key().matches("event") { found = try reader.string() } else { try reader.skipValue() }
    } while try reader.nextMember()
    return found
  }

  private static func member(
    _ name: StaticString, of bytes: UnsafeRawBufferPointer,
    _ body: (inout JSONReader) throws(ProtoJSONError) -> String?
  ) throws(ProtoJSONError) -> String? {
    var reader = JSONReader(bytes)
    var found: String?
    guard try reader.beginObject() else { return nil }
    repeat {
      if try reader.key().matches(name) { found = try body(&reader) } else { try reader.skipValue() }
    } while try reader.nextMember()
    try reader.finish()
    return found
  }

  /// Returns the policy in `{"message-storage-policy":1,…}`, or nil for other text.
  static func storagePolicy(in body: [UInt8]) -> MessageStoragePolicy? {
    let result = body.withUnsafeBytes { bytes in Result { () throws(ProtoJSONError) in try storagePolicy(bytes) } }
    return (try? result.get()) ?? nil
  }

  private static func storagePolicy(
    _ bytes: UnsafeRawBufferPointer
  ) throws(ProtoJSONError) -> MessageStoragePolicy? {
    var reader = JSONReader(bytes)
    var found: MessageStoragePolicy?
    guard try reader.beginObject() else { return nil }
    repeat {
      guard try reader.key().matches("message-storage-policy") else {
        try reader.skipValue()
        continue
      }
      switch try reader.int32() {
      case 0: found = .noneValue
      case 1: found = .mostRecent
      default: found = nil
      }
    } while try reader.nextMember()
    try reader.finish()
    return found
  }

  /// Returns the ids in `{"channels":["…"]}`, or nil for other text.
  static func channels(in body: [UInt8]) -> [String]? {
    let result = body.withUnsafeBytes { bytes in Result { () throws(ProtoJSONError) in try channels(bytes) } }
    return try? result.get()
  }

  private static func channels(_ bytes: UnsafeRawBufferPointer) throws(ProtoJSONError) -> [String] {
    var reader = JSONReader(bytes)
    var ids: [String] = []
    guard try reader.beginObject() else { return [] }
    repeat {
      guard try reader.key().matches("channels") else {
        try reader.skipValue()
        continue
      }
      guard try reader.beginArray() else { continue }
      repeat { ids.append(try reader.string()) } while try reader.nextElement()
    } while try reader.nextMember()
    try reader.finish()
    return ids
  }
}
