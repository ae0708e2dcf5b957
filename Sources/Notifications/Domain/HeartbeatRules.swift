import CampanileAPI
import CampanileCodec
import CampanileService

/// What a heartbeat may be, and how it goes through its life: expecting a beat until it is due, then missing it.
enum HeartbeatRules {
  static let nameMax = 128
  /// A year.
  static let minutesMax: Int32 = 525_600

  static func check(_ heartbeat: Heartbeat, _ path: String, _ violations: inout Violations) {
    violations.text(heartbeat.name, "\(path).name", max: nameMax, isRequired: true)
    if heartbeat.bucketId.isEmpty { violations.add("\(path).bucketId", "must not be empty", .required) }
    if !(1...minutesMax).contains(heartbeat.periodMinutes) {
      violations.add("\(path).periodMinutes", "must be 1 to \(minutesMax)", .outOfRange)
    }
    if !(0...minutesMax).contains(heartbeat.graceMinutes) {
      violations.add("\(path).graceMinutes", "must be 0 to \(minutesMax)", .outOfRange)
    }
    guard let notification = heartbeat.notification else { return }
    checkKept(notification, "\(path).notification", &violations)
    var complete = notification
    complete.bucketId = heartbeat.bucketId.isEmpty ? "b_" : heartbeat.bucketId
    if complete.title.isEmpty { complete.title = "-" }
    NotificationRules.check(complete, "\(path).notification", nowMs: 0, &violations)
  }

  /// A new heartbeat: it expects the first beat from now on.
  static func begun(_ draft: Heartbeat, id: String, nowMs: Int64) -> Heartbeat {
    var heartbeat = Heartbeat()
    heartbeat.id = id
    heartbeat.name = draft.name
    heartbeat.bucketId = draft.bucketId
    heartbeat.periodMinutes = draft.periodMinutes
    heartbeat.graceMinutes = draft.graceMinutes
    if let given = draft.notification {
      var kept = Notification()
      for field in NotificationField.allCases where field != .bucketID { field.copy(from: given, to: &kept) }
      // No field of an update mask, and so none of the loop.
      kept.collapseKey = given.collapseKey
      heartbeat.notification = kept
    }
    heartbeat.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    heartbeat.dueTime = ProtoTimestamp(millisecondsSince1970: dueMs(heartbeat, sinceMs: nowMs))
    return heartbeat
  }

  static func beaten(_ heartbeat: Heartbeat, nowMs: Int64) -> Heartbeat {
    var heartbeat = heartbeat
    heartbeat.lastBeatTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    heartbeat.dueTime = ProtoTimestamp(millisecondsSince1970: dueMs(heartbeat, sinceMs: nowMs))
    heartbeat.isMissing = false
    return heartbeat
  }

  /// The heartbeat with its beat missing; nil when it is missing already or not due.
  static func missed(_ heartbeat: Heartbeat, nowMs: Int64) -> Heartbeat? {
    guard let dueMs = heartbeat.dueTime?.millisecondsSince1970, dueMs <= nowMs, !heartbeat.isMissing else { return nil }
    var heartbeat = heartbeat
    heartbeat.dueTime = nil
    heartbeat.isMissing = true
    return heartbeat
  }

  /// What is published when the beat is missing.
  static func notification(of heartbeat: Heartbeat) -> Notification {
    var draft = heartbeat.notification ?? Notification()
    draft.bucketId = heartbeat.bucketId
    // At most 128 characters of a name: within the 256 of a title.
    if draft.title.isEmpty { draft.title = "\(heartbeat.name): no beat" }
    if draft.priority == .unspecified { draft.priority = .normal }
    return draft
  }

  static func dueMs(_ heartbeat: Heartbeat, sinceMs: Int64) -> Int64 {
    sinceMs + (Int64(heartbeat.periodMinutes) + Int64(heartbeat.graceMinutes)) * 60_000
  }

  /// It is published at a time that nobody knows yet, and again and again: no fixed times, and media by URL alone.
  private static func checkKept(_ notification: Notification, _ path: String, _ violations: inout Violations) {
    if notification.deliverTime != nil {
      violations.add("\(path).deliverTime", "must be absent in a heartbeat", .fieldNotAllowed)
    }
    if notification.expireTime != nil {
      violations.add("\(path).expireTime", "must be absent in a heartbeat", .fieldNotAllowed)
    }
    for (index, attachment) in notification.attachments.prefix(NotificationRules.attachmentsMax).enumerated()
    where !attachment.data.isEmpty || !attachment.contentId.isEmpty {
      violations.add("\(path).attachments[\(index)].data", "must be empty in a heartbeat: give a URL", .fieldNotAllowed)
    }
  }
}
