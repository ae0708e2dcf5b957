import APNs
import CampanileCodec

/// A writer of control replies. Members without a value are omitted.
struct ControlReply: ~Copyable {
  var writer = JSONWriter()

  /// Returns the bytes of one object whose members `body` writes.
  static func object(_ body: (inout ControlReply) -> Void) -> [UInt8] {
    var reply = ControlReply()
    reply.nested(body)
    return reply.writer.withUnsafeBytes { Array($0) }
  }

  mutating func nested(_ body: (inout ControlReply) -> Void) {
    let start = writer.beginObject()
    body(&self)
    writer.endObject(start)
  }

  mutating func member(_ name: String, _ value: String?) {
    guard let value else { return }
    writer.key(name)
    writer.string(value)
  }

  mutating func member(_ name: String, _ value: Int64?) {
    guard let value else { return }
    writer.key(name)
    writer.number(value)
  }

  mutating func member(_ name: String, _ value: Int?) { member(name, value.map(Int64.init)) }

  mutating func member(_ name: String, _ value: Double?) {
    guard let value else { return }
    writer.key(name)
    writer.double(value)
  }

  mutating func member(_ name: String, _ value: Bool) {
    writer.key(name)
    writer.bool(value)
  }

  /// Writes a member whose value is already JSON.
  mutating func member(_ name: String, json: String?) {
    guard let json else { return }
    writer.key(name)
    writer.append(raw: json)
  }

  mutating func member(_ name: String, object body: (inout ControlReply) -> Void) {
    writer.key(name)
    nested(body)
  }

  mutating func member<T>(_ name: String, _ values: [T], _ body: (inout ControlReply, T) -> Void) {
    writer.key(name)
    let start = writer.beginArray()
    for value in values {
      writer.nextElement()
      nested { body(&$0, value) }
    }
    writer.endArray(start)
  }

  mutating func member(_ name: String, _ values: [String]) {
    writer.key(name)
    let start = writer.beginArray()
    for value in values {
      writer.nextElement()
      writer.string(value)
    }
    writer.endArray(start)
  }
}

extension ControlReply {
  mutating func members(_ push: LoggedPush) {
    member("sequence", push.sequence)
    member("receivedAtMs", push.receivedAtMs)
    member("connection", push.connection)
    member("path", push.path)
    member("topic", push.topic)
    member("pushType", push.pushType)
    member("priority", push.priority)
    member("expiration", push.expiration)
    member("collapseId", push.collapseID)
    member("id", push.id)
    member("bodyBytes", push.bodyBytes)
    member("status", push.status)
    member("reason", push.reason)
    member("detail", push.detail)
    member("fault", push.fault)
    member("discard", push.discard?.rawValue)
  }

  mutating func members(_ key: String, _ screen: Screen) {
    member("key", key)
    member("bundleId", screen.bundleID)
    member("kind", screen.kind.rawValue)
    member("event", screen.event?.rawValue)
    member("isEnded", screen.isEnded)
    member("contentState", json: screen.contentState)
    member("timestampSeconds", screen.timestampSeconds)
    member("staleDateSeconds", screen.staleDateSeconds)
    member("dismissalDateSeconds", screen.dismissalDateSeconds)
    member("relevanceScore", screen.relevanceScore)
    member("attributesType", screen.attributesType)
    member("attributes", json: screen.attributes)
    member("alert", json: screen.alert)
    member("starts", screen.starts)
    member("updates", screen.updates)
    member("ends", screen.ends)
    member("alerts", screen.alerts)
    member("backgrounds", screen.backgrounds)
    member("reloads", screen.reloads)
    member("updateSource", screen.updateSource?.rawValue)
    member("channelId", screen.channelID)
    member("highPriority", screen.highPriority)
    member("sameTimestamps", screen.sameTimestamps)
    member("discards") { $0.members(screen.discards) }
    member("updatedAtMs", screen.updatedAtMs)
  }

  mutating func members(_ discards: [Discard: Int]) {
    for (discard, count) in discards.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      member(discard.rawValue, count)
    }
  }

  mutating func members(_ rule: FaultRule) {
    member("id", rule.id)
    member("action", rule.action.name)
    member("every", rule.every)
    member("probability", rule.probability)
    member("remaining", rule.remaining)
    member("untilMs", rule.untilMs)
    member("matched", rule.matched)
    member("applied", rule.applied)
  }

  mutating func members(_ token: String, _ device: DeviceRecord) {
    member("token", token)
    member("bundleId", device.bundleID)
    member("kind", device.kind.rawValue)
    member("device", device.device)
    member("environment", device.environment.rawValue)
    member("registeredAtMs", device.registeredAtMs)
    member("rejectedReason", device.rejection?.reason.text)
    member("rejectedAtMs", device.rejection?.timestampMs)
  }

  mutating func members(_ key: SigningKey) {
    member("teamId", key.teamID)
    member("keyId", key.keyID)
    member("environment", key.environment.rawValue)
    member("bundleIds", key.bundleIDs)
  }
}
