import CampanileService
import CampanileStore

/// What is to happen at a time. The numbers are in the database: never reuse one.
enum TimerKind: Int64, Sendable, CaseIterable {
  /// A scheduled notification is published.
  case deliver = 1
  /// A notification that quiet hours or a snoozed bucket hold is handed to the devices.
  case release = 2
  /// An unread notification is handed to the devices again.
  case `repeat` = 3
  /// A notification is deleted.
  case expire = 4
  /// A heartbeat is missing.
  case heartbeat = 5
  /// The share of a bucket ends.
  case shareEnd = 6
  /// The deletion of a bucket, or the end of a share, goes on where it was cut short.
  case emptyBucket = 7
  /// An action is tried again.
  case actionRetry = 8
  /// A notification that its user snoozed or postponed comes back.
  case wake = 9
  /// The restoring of a bucket goes on where it was cut short.
  case refillBucket = 10
}

typealias DueTimer = CampanileService.DueTimer<TimerKind>

extension WriteTransaction {
  /// Sets a timer and lets the loop of the timers know of it.
  func setTimer(_ kind: TimerKind, _ subject: String, user: String, dueMs: Int64, _ board: CommitBoard) throws {
    try setTimer(kind, subject, user: user, dueMs: dueMs)
    board.scheduled(dueMs)
  }
}
