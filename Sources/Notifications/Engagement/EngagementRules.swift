import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileService

/// A checked report about one copy of a notification.
struct EngagementDraft: Sendable, Hashable {
  var user: String
  var notificationID: String
  var deviceID: String
  /// The `apns-id`; empty if the report has no receipt.
  var pushID: String
  var kind: EngagementKind
  var actionID: String
  /// By the device's clock; nil for now.
  var eventTimeMs: Int64?
}

/// Rules for reports by devices. Pure.
enum EngagementRules {
  /// Reports about one user's copy, all devices and kinds together.
  static let reportsPerCopyMax = 64
  /// The time after a hand-over in which reports are accepted, and for which they are retained. A report can therefore
  /// not be repeated after its row has been purged.
  static let retentionMs: Int64 = Trash.retentionMs

  /// Checks that exactly ACTED names an action.
  static func check(_ kind: EngagementKind, actionID: String, _ path: String, _ violations: inout Violations) {
    if kind == .acted {
      if actionID.isEmpty { violations.add("\(path)actionId", "is required for ACTED", .required) }
    } else if !actionID.isEmpty {
      violations.add("\(path)actionId", "must be empty unless the kind is ACTED", .outOfRange)
    }
  }

  /// Returns the event's time between the notification's publication and now. Clocks of devices are often wrong, and a
  /// wrong time must not lose a report.
  static func timeMs(_ reportedMs: Int64?, publishedMs: Int64, nowMs: Int64) -> Int64 {
    min(max(reportedMs ?? nowMs, publishedMs), max(nowMs, publishedMs))
  }

  /// Returns the entry of the delivery log that shows a report.
  static func outcome(_ kind: EngagementKind) -> DeliveryOutcome {
    switch kind {
    case .received: .received
    case .opened: .opened
    case .dismissed: .dismissed
    case .acted: .acted
    case .unspecified, .unrecognized: .unspecified
    }
  }
}

extension EngagementCounts {
  /// One recipient of a kind.
  init(one kind: EngagementKind) {
    self.init(
      receivedCount: kind == .received ? 1 : 0, openedCount: kind == .opened ? 1 : 0,
      dismissedCount: kind == .dismissed ? 1 : 0, actedCount: kind == .acted ? 1 : 0)
  }
}
