import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// The members of a push's payload that a caller places next to `aps`, as a JSON object.
enum AlertMembers {
  /// Written by this service.
  private static let reserved: Set<String> = ["aps", "notificationId", "data", "rct"]

  static func check(_ json: String, _ violations: inout Violations) {
    guard JSONObjectText.object(json, "payloadJson", &violations) else { return }
    let names = Array(json.utf8).withUnsafeBytes { RawJSON.members($0, 0..<$0.count)?.map(\.name) ?? [] }
    guard let name = names.first(where: reserved.contains) else { return }
    violations.add("payloadJson", "must not have the member \(name)", .fieldNotAllowed)
  }

  /// Writes the object's members as they are given. The text must have been checked.
  static func write(_ json: String, to writer: inout JSONWriter) {
    let inner = json.utf8.drop { $0 != UInt8(ascii: "{") }.dropFirst()
    guard let end = inner.lastIndex(of: UInt8(ascii: "}")),
      let start = inner[..<end].firstIndex(where: { !isSpace($0) })
    else { return }
    writer.append(UInt8(ascii: ","))
    writer.append(raw: String(inner[start..<end]) ?? "")
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

extension SendAlertRequest {
  /// A critical alert as apps without Apple's entitlement can show it; nil if this alert is not critical.
  var timeSensitive: SendAlertRequest? {
    guard interruptionLevel == .critical || alert?.sound?.critical == true else { return nil }
    var request = self
    if interruptionLevel == .critical { request.interruptionLevel = .timeSensitive }
    request.alert?.sound = alert?.sound.map { Sound(name: $0.name) }
    return request
  }
}

extension ActivitiesPolicy {
  /// Returns the payload for a device of an app.
  func payload(of alert: AlertDraft, for app: String) -> [UInt8] {
    criticalAlertApps.contains(app) ? alert.payload : alert.timeSensitivePayload ?? alert.payload
  }
}
