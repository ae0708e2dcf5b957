import APNs
import CampanileCodec

/// A broadcast channel.
struct ChannelRecord: Sendable, Hashable {
  var bundleID: String
  /// Whether the newest message is stored for offline devices (message storage policy 1).
  var storesMessages: Bool
  var createdAtMs: Int64
}

/// Apple's rules for broadcast channels ("Sending channel management requests to APNs").
enum ChannelRules {
  /// The reason for a body that is not valid. Apple documents none; `CannotCreateChannelConfig` means that the app has
  /// reached its limit of channels ("Handling error responses from Apple Push Notification service").
  static let badBody = APNsReason(text: "BadRequest", status: 400)

  /// Returns the channel with this id.
  ///
  /// - Throws: The refusal if the header is missing or malformed, or if there is no such channel.
  static func existing(_ id: String?, _ channel: ChannelRecord?) throws(Refusal) -> ChannelRecord {
    guard let id, !id.isEmpty else { throw Refusal(.missingChannelID, "apns-channel-id is missing") }
    guard isChannelID(id) else { throw Refusal(.badChannelID, "apns-channel-id is not base64") }
    guard let channel else { throw Refusal(.channelNotRegistered, "the app has no such channel") }
    return channel
  }

  /// Parses the body of a creation request and returns whether its policy stores messages. Throws the refusal of an
  /// invalid body.
  static func storesMessages(_ body: [UInt8]) throws(Refusal) -> Bool {
    guard !body.isEmpty else { throw Refusal(.payloadEmpty, "the body is empty") }
    var policy: Int32?
    var pushType: String?
    do throws(ProtoJSONError) {
      (policy, pushType) = try members(body)
    } catch {
      throw Refusal(badBody, error.message)
    }
    guard pushType?.lowercased() == PushType.liveactivity.rawValue else {
      throw Refusal(.invalidPushType, "push-type must be LiveActivity")
    }
    guard let policy, policy == 0 || policy == 1 else {
      throw Refusal(badBody, "message-storage-policy must be 0 or 1")
    }
    return policy == 1
  }

  private static func members(_ body: [UInt8]) throws(ProtoJSONError) -> (Int32?, String?) {
    let result = body.withUnsafeBytes { bytes in
      Result { () throws(ProtoJSONError) in
        var found: (policy: Int32?, pushType: String?) = (nil, nil)
        var reader = JSONReader(bytes, options: JSONDecodingOptions(maxDepth: 8))
        var more = try reader.beginObject()
        while more {
          switch try reader.stringKey() {
          case "message-storage-policy": found.policy = try reader.int32()
          case "push-type": found.pushType = try reader.string()
          default: try reader.skipValue()
          }
          more = try reader.nextMember()
        }
        try reader.finish()
        return (found.policy, found.pushType)
      }
    }
    return try result.get()
  }

  private static func isChannelID(_ id: String) -> Bool {
    guard id.utf8.count <= APNsLimits.channelIDBytesMax, id.utf8.count.isMultiple(of: 4) else { return false }
    return id.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
        true
      default: false
      }
    }
  }
}
