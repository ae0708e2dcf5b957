import APNs
import CampanileAPI
import CampanileCodec

/// The JSON of a Live Activity push ("Starting and updating Live Activities with ActivityKit push notifications").
///
/// Objects are inserted unchanged: the app decodes the content-state byte for byte as its caller wrote it.
struct PushPayload {
  var event: LiveActivityEvent
  /// `aps.timestamp`, seconds since 1970.
  var timestamp: Int64
  /// The JSON of an object.
  var contentState: String
  var staleMs: Int64?
  var relevanceScore: Double?
  /// Seconds since 1970; for an end only.
  var dismissalSeconds: Int64?
  var alert: Alert?
  /// For a start only.
  var start: Start?

  /// Content that a start needs in addition to the state.
  struct Start: Sendable, Hashable {
    var attributesType: String
    /// The JSON of an object.
    var attributes: String
    /// Channel for the app to subscribe to (`input-push-channel`); empty requests a push token (`input-push-token`).
    var channelID: String
  }

  func bytes() -> [UInt8] {
    var writer = JSONWriter(capacity: 256 + contentState.utf8.count)
    let whole = writer.beginObject()
    writer.name(",\"aps\":")
    let aps = writer.beginObject()
    writer.name(",\"timestamp\":")
    writer.number(timestamp)
    writer.name(",\"event\":")
    writer.string(event.rawValue)
    writer.name(",\"content-state\":")
    writer.append(raw: contentState)
    if let start { write(start, to: &writer) }
    if let staleMs {
      writer.name(",\"stale-date\":")
      writer.number(staleMs / 1_000)
    }
    if let dismissalSeconds {
      writer.name(",\"dismissal-date\":")
      writer.number(dismissalSeconds)
    }
    if let relevanceScore {
      writer.name(",\"relevance-score\":")
      writer.double(relevanceScore)
    }
    if let alert {
      writer.name(",\"alert\":")
      alert.write(to: &writer)
    }
    writer.endObject(aps)
    writer.endObject(whole)
    return writer.withUnsafeBytes { Array($0) }
  }

  private func write(_ start: Start, to writer: inout JSONWriter) {
    writer.name(",\"attributes-type\":")
    writer.string(start.attributesType)
    writer.name(",\"attributes\":")
    writer.append(raw: start.attributes)
    if start.channelID.isEmpty {
      writer.name(",\"input-push-token\":1")
    } else {
      writer.name(",\"input-push-channel\":")
      writer.string(start.channelID)
    }
  }
}

extension Alert {
  /// Whether the alert has the texts that an activity's alert needs.
  var isComplete: Bool { !(title.isEmpty && titleLocKey.isEmpty) && !(body.isEmpty && locKey.isEmpty) }

  /// Whether a device has something to show.
  var isVisible: Bool { !(title.isEmpty && titleLocKey.isEmpty && body.isEmpty && locKey.isEmpty) }

  /// Writes the alert object. An activity's alert contains its sound and nests localized texts. An ordinary alert has
  /// `title-loc-key` instead, the further keys of its request, and its sound is a member of `aps`.
  func write(of request: SendAlertRequest? = nil, to writer: inout JSONWriter) {
    let object = writer.beginObject()
    guard let request else {
      Self.nested(",\"title\":", text: title, key: titleLocKey, args: titleLocArgs, to: &writer)
      Self.nested(",\"body\":", text: body, key: locKey, args: locArgs, to: &writer)
      sound?.write(to: &writer)
      writer.endObject(object)
      return
    }
    Self.member(",\"title\":", title, to: &writer)
    Self.member(",\"subtitle\":", request.subtitle ?? "", to: &writer)
    Self.member(",\"body\":", body, to: &writer)
    Self.member(",\"title-loc-key\":", titleLocKey, to: &writer)
    Self.list(",\"title-loc-args\":", titleLocArgs, to: &writer)
    Self.member(",\"loc-key\":", locKey, to: &writer)
    Self.list(",\"loc-args\":", locArgs, to: &writer)
    request.writeAlertKeys(to: &writer)
    writer.endObject(object)
  }

  private static func nested(
    _ name: StaticString, text: String, key: String, args: [String], to writer: inout JSONWriter
  ) {
    guard !key.isEmpty else { return member(name, text, to: &writer) }
    writer.name(name)
    let object = writer.beginObject()
    member(",\"loc-key\":", key, to: &writer)
    list(",\"loc-args\":", args, to: &writer)
    writer.endObject(object)
  }

  static func member(_ name: StaticString, _ value: String, to writer: inout JSONWriter) {
    guard !value.isEmpty else { return }
    writer.name(name)
    writer.string(value)
  }

  static func list(_ name: StaticString, _ values: [String], to writer: inout JSONWriter) {
    guard !values.isEmpty else { return }
    writer.name(name)
    let array = writer.beginArray()
    for value in values {
      writer.nextElement()
      writer.string(value)
    }
    writer.endArray(array)
  }
}
