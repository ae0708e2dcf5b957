import CampanileAPI
import CampanileCodec
import CampanileService

/// Validates heartbeats by the rules that their constraints cannot express, and defines their life cycle: a heartbeat
/// expects a beat until it is due, then the beat is missing.
enum HeartbeatRules {
  static func check(_ heartbeat: Heartbeat, _ path: String, _ violations: inout Violations) {
    guard let notification = heartbeat.notification else { return }
    checkRetained(notification, "\(path).notification", &violations)
    var complete = notification
    complete.bucketId = heartbeat.bucketId.isEmpty ? "b_" : heartbeat.bucketId
    if complete.title.isEmpty { complete.title = "-" }
    NotificationRules.check(complete, "\(path).notification", nowMs: 0, &violations)
  }

  /// Returns a new heartbeat, which expects its first beat from now on.
  static func begun(_ draft: Heartbeat, id: String, nowMs: Int64) -> Heartbeat {
    var heartbeat = Heartbeat(
      id: id, name: draft.name, bucketId: draft.bucketId, period: draft.period, grace: draft.grace)
    if let given = draft.notification {
      var kept = Notification()
      for field in NotificationField.allCases where field != .bucketID { field.copy(from: given, to: &kept) }
      // Not a field of the update mask, so the loop does not copy it.
      kept.collapseKey = given.collapseKey
      heartbeat.notification = kept
    }
    heartbeat.createTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    heartbeat.dueTime = ProtoTimestamp(millisecondsSince1970: dueMs(heartbeat, sinceMs: nowMs))
    heartbeat.etag = Etag.text(version: 1)
    return heartbeat
  }

  static func beaten(_ heartbeat: Heartbeat, nowMs: Int64) -> Heartbeat {
    var heartbeat = heartbeat
    heartbeat.lastBeatTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    heartbeat.dueTime = ProtoTimestamp(millisecondsSince1970: dueMs(heartbeat, sinceMs: nowMs))
    heartbeat.isMissing = false
    heartbeat.etag = nextEtag(heartbeat)
    return heartbeat
  }

  /// Returns the heartbeat marked as missing, or nil if it is already missing or not yet due.
  static func missed(_ heartbeat: Heartbeat, nowMs: Int64) -> Heartbeat? {
    guard let dueMs = heartbeat.dueTime?.millisecondsSince1970, dueMs <= nowMs, !heartbeat.isMissing else { return nil }
    var heartbeat = heartbeat
    heartbeat.dueTime = nil
    heartbeat.isMissing = true
    heartbeat.etag = nextEtag(heartbeat)
    return heartbeat
  }

  /// Returns the notification to publish for a missing beat.
  static func notification(of heartbeat: Heartbeat) -> Notification {
    var draft = heartbeat.notification ?? Notification()
    draft.bucketId = heartbeat.bucketId
    // A name has at most 128 characters, so the title stays within its 256.
    if draft.title.isEmpty { draft.title = "\(heartbeat.name): no beat" }
    if draft.priority == .unspecified { draft.priority = .normal }
    return draft
  }

  static func dueMs(_ heartbeat: Heartbeat, sinceMs: Int64) -> Int64 {
    sinceMs + (heartbeat.period?.milliseconds ?? 0) + (heartbeat.grace?.milliseconds ?? 0)
  }

  private static func nextEtag(_ heartbeat: Heartbeat) -> String {
    Etag.text(version: (Etag.version(heartbeat.etag) ?? 0) &+ 1)
  }

  /// The notification is published repeatedly and at unknown times: fixed times and inline media are not allowed.
  private static func checkRetained(_ notification: Notification, _ path: String, _ violations: inout Violations) {
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
