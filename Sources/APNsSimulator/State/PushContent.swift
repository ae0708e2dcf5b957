import APNs
import CampanileCodec

/// The contents of a payload, as a device reads them.
struct PushContent: Sendable, Hashable {
  var event: LiveActivityEvent?
  /// `aps.event` if it is not one of the known events.
  var otherEvent: String?
  /// `aps.timestamp`, epoch seconds.
  var timestampSeconds: Int64?
  /// Unparsed members of `aps`: JSON texts.
  var contentState: String?
  var attributes: String?
  var attributesType: String?
  var alert: String?
  var staleDateSeconds: Int64?
  var dismissalDateSeconds: Int64?
  var relevanceScore: Double?
  /// Whether `content-available` is 1.
  var isBackground = false
  /// Whether `input-push-token` is 1: the started activity gets an update token.
  var asksForToken = false
  /// `input-push-channel`: the channel that the started activity subscribes to.
  var channelID: String?
  /// Whether `content-changed` is true: widgets and controls reload.
  var isReload = false
  var hasAPS = false

  /// Parses a payload. Throws if it is not a JSON object, or if a member of `aps` has another type than documented.
  init(_ payload: [UInt8]) throws(ProtoJSONError) {
    let result = payload.withUnsafeBytes { bytes in
      Result { () throws(ProtoJSONError) in
        var content = PushContent()
        var reader = JSONReader(bytes, options: JSONDecodingOptions(maxDepth: 64))
        var more = try reader.beginObject()
        while more {
          if try reader.key().matches("aps") { try content.readAPS(&reader) } else { try reader.skipValue() }
          more = try reader.nextMember()
        }
        try reader.finish()
        return content
      }
    }
    self = try result.get()
  }

  private init() {}

  private mutating func readAPS(_ reader: inout JSONReader) throws(ProtoJSONError) {
    hasAPS = true
    var more = try reader.beginObject()
    while more {
      let name = try reader.stringKey()
      switch name {
      case "event":
        let text = try reader.string()
        event = LiveActivityEvent(rawValue: text)
        if event == nil { otherEvent = text }
      case "timestamp": timestampSeconds = try reader.int64()
      case "content-state": contentState = try reader.rawValue()
      case "attributes": attributes = try reader.rawValue()
      case "attributes-type": attributesType = try reader.string()
      case "alert": alert = try reader.rawValue()
      case "stale-date": staleDateSeconds = try reader.int64()
      case "dismissal-date": dismissalDateSeconds = try reader.int64()
      case "relevance-score": relevanceScore = try reader.double()
      case "content-available": isBackground = try reader.double() == 1
      case "input-push-token": asksForToken = try reader.double() == 1
      case "input-push-channel": channelID = try reader.string()
      case "content-changed": isReload = try reader.bool()
      default: try reader.skipValue()
      }
      more = try reader.nextMember()
    }
  }
}

/// The cause for which a device ignores a push, although APNs accepted it with 200.
enum Discard: String, Error, Sendable, Hashable, CaseIterable {
  case notJSON = "NOT_JSON"
  case noAPS = "NO_APS"
  case badEvent = "BAD_EVENT"
  case noTimestamp = "NO_TIMESTAMP"
  case noContentState = "NO_CONTENT_STATE"
  case noAttributesType = "NO_ATTRIBUTES_TYPE"
  case noAttributes = "NO_ATTRIBUTES"
  case noAlert = "NO_ALERT"
  /// An event that does not fit the token or channel: a start for an activity, an update for a push-to-start token.
  case wrongEvent = "WRONG_EVENT"
  /// A push with a later `timestamp` came before.
  case oldTimestamp = "OLD_TIMESTAMP"
  case afterEnd = "AFTER_END"
  /// A start with a channel that does not exist.
  case noChannel = "NO_CHANNEL"
  /// A push to widgets or a control without `content-changed`.
  case noContentChanged = "NO_CONTENT_CHANGED"
  /// A push beyond the device's budget.
  case withheld = "WITHHELD"
  /// The device was offline, and the push was not to be stored.
  case offline = "OFFLINE"
}

/// The rules by which a device interprets a Live Activity push ("Starting and updating Live Activities with ActivityKit
/// push notifications").
enum EventRules {
  /// Returns the event, or throws the cause for which the device would ignore the push.
  static func check(_ content: PushContent, kind: DeviceRecord.Kind) throws(Discard) -> LiveActivityEvent {
    guard content.hasAPS else { throw .noAPS }
    guard let event = content.event else { throw .badEvent }
    guard content.timestampSeconds != nil else { throw .noTimestamp }
    guard event == .end || isObject(content.contentState) else { throw .noContentState }
    switch (event, kind) {
    case (.start, .activity), (.update, .start), (.end, .start): throw .wrongEvent
    default: break
    }
    if event == .start {
      guard content.attributesType?.isEmpty == false else { throw .noAttributesType }
      guard isObject(content.attributes) else { throw .noAttributes }
      guard content.alert != nil else { throw .noAlert }
    }
    return event
  }

  private static func isObject(_ json: String?) -> Bool { json?.utf8.first == UInt8(ascii: "{") }
}
