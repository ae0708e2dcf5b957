import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// A validated push of one notification to a user's devices.
struct AlertDraft: Sendable, Hashable {
  /// Default lifetime: one day. APNs stores the push that long for a device that is off.
  static let expirationMsDefault: Int64 = 24 * 3_600_000

  var user: String
  var id: String
  /// Id for delivery reports; empty if none are wanted.
  var notificationID: String
  /// Nil for all apps.
  var app: String?
  var isBackground: Bool
  var payload: [UInt8]
  var collapseID: String?
  var expireMs: Int64
  var priority: PushPriority
  var traceParent: String?

  /// Validates a request. Throws INVALID_ARGUMENT naming every invalid field, or reason `PAYLOAD_TOO_LARGE`.
  init(_ request: SendAlertRequest, traceParent: String?, nowMs: Int64) throws(RPCError) {
    var violations = Violations()
    request.validate(into: &violations)
    ActivityRules.app(request.app, "app", &violations)
    ActivityRules.alert(request.alert, "alert", isOfActivity: false, &violations)
    let expireMs = TimeRules.milliseconds(request.expireTime, "expireTime", &violations)
    if let expireMs, expireMs <= nowMs { violations.add("expireTime", "must be in the future", .timePast) }
    try violations.check()
    user = request.userId
    id = request.alertId
    notificationID = request.notificationId
    app = request.app.isEmpty ? nil : request.app
    isBackground = request.alert == nil
    payload = Self.payload(request)
    guard payload.count <= APNsLimits.payloadBytesMax else {
      throw .payloadTooLarge(
        request.data == nil ? "alert" : "data", sizeBytes: payload.count, limit: APNsLimits.payloadBytesMax)
    }
    collapseID = request.collapseId.isEmpty ? nil : request.collapseId
    self.expireMs = expireMs ?? nowMs + Self.expirationMsDefault
    // APNs rejects a background push with another priority.
    priority = isBackground || request.lowPriority ? .low : .high
    self.traceParent = traceParent
  }

  /// Encodes `aps`, and next to it `notificationId` and the unchanged `data`.
  private static func payload(_ request: SendAlertRequest) -> [UInt8] {
    var writer = JSONWriter(capacity: 1_024)
    let whole = writer.beginObject()
    writer.name(",\"aps\":")
    let aps = writer.beginObject()
    if let alert = request.alert {
      writer.name(",\"alert\":")
      alert.write(forActivity: false, subtitle: request.subtitle, to: &writer)
      text(",\"sound\":", alert.sound, &writer)
    } else {
      writer.name(",\"content-available\":1")
    }
    if let badge = request.badge {
      writer.name(",\"badge\":")
      writer.int32(badge)
    }
    text(",\"category\":", request.category, &writer)
    text(",\"thread-id\":", request.threadId, &writer)
    text(",\"interruption-level\":", request.interruptionLevel, &writer)
    if request.mutableContent { writer.name(",\"mutable-content\":1") }
    writer.endObject(aps)
    text(",\"notificationId\":", request.notificationId, &writer)
    if let data = request.data {
      writer.name(",\"data\":")
      writer.append(raw: data.json)
    }
    writer.endObject(whole)
    return writer.withUnsafeBytes { Array($0) }
  }

  private static func text(_ name: StaticString, _ value: String, _ writer: inout JSONWriter) {
    guard !value.isEmpty else { return }
    writer.name(name)
    writer.string(value)
  }
}
