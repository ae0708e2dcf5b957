import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// A validated push of one notification to a user's devices.
struct AlertDraft: Sendable, Hashable {
  /// Default lifetime: one day. APNs stores the push that long for a device that is off ("Sending notification requests
  /// to APNs").
  static let expirationMsDefault: Int64 = 24 * 3_600_000

  var user: String
  var id: String
  /// Id for delivery reports; empty if none are wanted.
  var notificationID: String
  /// Nil for all apps.
  var app: String?
  /// Nil for all installations.
  var installationID: String?
  var isBackground: Bool
  var payload: [UInt8]
  /// The payload of a critical alert for apps without Apple's entitlement; nil for any other push.
  var timeSensitivePayload: [UInt8]?
  var collapseID: String?
  var expireMs: Int64
  var priority: PushPriority
  var traceParent: String?
  /// The key for the receipts of this alert's pushes; empty if they have none.
  var receiptKey: [UInt8]

  /// Validates a request. Throws INVALID_ARGUMENT naming every invalid field, or reason `PAYLOAD_TOO_LARGE`.
  init(_ request: SendAlertRequest, traceParent: String?, nowMs: Int64) throws(RPCError) {
    var violations = Violations()
    request.validate(into: &violations)
    ActivityRules.app(request.app, "app", &violations)
    ActivityRules.alert(request.alert, "alert", isOfActivity: false, &violations)
    JSONObjectText.object(request.dataJson, "dataJson", &violations)
    AlertMembers.check(request.payloadJson, &violations)
    request.checkKeys(&violations)
    if request.interruptionLevel == .critical, request.alert?.sound?.critical != true {
      violations.add("alert.sound.critical", "is required for the interruption level CRITICAL", .required)
    }
    let expireMs = TimeRules.milliseconds(request.expireTime, "expireTime", &violations)
    if let expireMs, expireMs <= nowMs { violations.add("expireTime", "must be in the future", .timePast) }
    try violations.check()
    user = request.userId
    id = request.alertId
    notificationID = request.notificationId
    app = request.app.isEmpty ? nil : request.app
    installationID = request.installationId.isEmpty ? nil : request.installationId
    // A push with a badge is visible: APNs requires the type `alert` for it, and does not throttle it ("Pushing
    // background updates to your App").
    isBackground = request.alert == nil && request.badge == nil
    payload = Self.payload(request, isBackground: isBackground)
    timeSensitivePayload = request.timeSensitive.map { Self.payload($0, isBackground: false) }
    guard payload.count <= APNsLimits.payloadBytesMax else {
      throw .payloadTooLarge(
        Self.largest(request), sizeBytes: payload.count, limit: APNsLimits.payloadBytesMax)
    }
    collapseID = request.collapseId.isEmpty ? nil : request.collapseId
    self.expireMs = expireMs ?? nowMs + Self.expirationMsDefault
    // APNs rejects a background push with another priority ("Sending notification requests to APNs").
    priority = isBackground || request.urgency == .low ? .low : .high
    self.traceParent = traceParent
    receiptKey = request.receiptKey
  }

  /// The receipt of a push to one device; nil if the alert has no key.
  func receipt(deviceID: String) -> ReceiptSeed? {
    receiptKey.isEmpty
      ? nil : ReceiptSeed(alertKey: receiptKey, userID: user, alertID: id, deviceID: deviceID)
  }

  /// The field to shorten if the payload is too large.
  private static func largest(_ request: SendAlertRequest) -> String {
    let sizes = [
      ("alert", 0), ("dataJson", request.dataJson.utf8.count), ("payloadJson", request.payloadJson.utf8.count),
    ]
    return sizes.max { $0.1 < $1.1 }?.0 ?? "alert"
  }

  /// Encodes `aps` ("Generating a remote notification"), and next to it `notificationId` and the unchanged `data`.
  private static func payload(_ request: SendAlertRequest, isBackground: Bool) -> [UInt8] {
    var writer = JSONWriter(capacity: 1_024)
    let whole = writer.beginObject()
    writer.name(",\"aps\":")
    let aps = writer.beginObject()
    if let alert = request.alert {
      writer.name(",\"alert\":")
      alert.write(of: request, to: &writer)
      alert.sound?.write(to: &writer)
    }
    if isBackground || request.contentAvailable { writer.name(",\"content-available\":1") }
    if let badge = request.badge {
      writer.name(",\"badge\":")
      writer.int32(badge)
    }
    text(",\"category\":", request.category, &writer)
    text(",\"thread-id\":", request.threadId, &writer)
    text(",\"interruption-level\":", request.interruptionLevel.payloadName, &writer)
    if request.mutableContent { writer.name(",\"mutable-content\":1") }
    request.writeKeys(to: &writer)
    writer.endObject(aps)
    text(",\"notificationId\":", request.notificationId, &writer)
    if !request.dataJson.isEmpty {
      writer.name(",\"data\":")
      writer.append(raw: request.dataJson)
    }
    AlertMembers.write(request.payloadJson, to: &writer)
    writer.endObject(whole)
    return writer.withUnsafeBytes { Array($0) }
  }

  private static func text(_ name: StaticString, _ value: String, _ writer: inout JSONWriter) {
    guard !value.isEmpty else { return }
    writer.name(name)
    writer.string(value)
  }
}

extension InterruptionLevel {
  /// The value in `aps`; empty for the system's default.
  var payloadName: String {
    switch self {
    case .passive: "passive"
    case .active: "active"
    case .timeSensitive: "time-sensitive"
    case .critical: "critical"
    case .unspecified, .unrecognized: ""
    }
  }
}

extension Sound {
  /// Writes the member `sound` of `aps`: a name, or an object for a critical sound ("Generating a remote
  /// notification").
  func write(to writer: inout JSONWriter) {
    writer.name(",\"sound\":")
    guard critical else { return writer.string(name) }
    let object = writer.beginObject()
    writer.name(",\"critical\":1")
    writer.name(",\"name\":")
    writer.string(name)
    if let volume {
      writer.name(",\"volume\":")
      writer.double(volume)
    }
    writer.endObject(object)
  }
}
