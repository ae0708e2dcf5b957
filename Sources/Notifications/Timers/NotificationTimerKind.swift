import CampanileService
import CampanileStore

/// The effect of a timer. The raw values are stored: never reuse one.
enum NotificationTimerKind: Int64, Sendable, CaseIterable {
  /// Publishes a scheduled notification.
  case deliver = 1
  /// Hands over a notification that was held by quiet hours or a snoozed bucket.
  case release = 2
  /// Hands over an unread notification again.
  case `repeat` = 3
  /// Deletes an expired notification.
  case expire = 4
  /// Marks a heartbeat as missing.
  case heartbeat = 5
  /// Ends the share of a bucket.
  case shareEnd = 6
  /// Resumes an interrupted deletion of a bucket or end of a share.
  case emptyBucket = 7
  /// Retries an action.
  case actionRetry = 8
  /// Hands over a notification that its user snoozed or postponed.
  case wake = 9
  /// Resumes an interrupted restoration of a bucket.
  case refillBucket = 10
}

typealias NotificationTimer = CampanileService.DueTimer<NotificationTimerKind>

extension WriteTransaction {
  /// Sets a timer and informs the timer loop.
  func setTimer(
    _ kind: NotificationTimerKind, _ subject: String, user: String, dueMs: Int64, _ notifier: CommitNotifier
  ) throws {
    try setTimer(kind, subject, user: user, dueMs: dueMs)
    notifier.scheduled(dueMs)
  }
}
