import CampanileService

/// The kind of a timer. Raw values are stored in the database; never reuse one.
enum ActivityTimerKind: Int64, Sendable, CaseIterable {
  /// A scheduled start.
  case start = 1
  /// A scheduled end.
  case end = 2
  /// The end of the activity's 8 h.
  case expire = 3
  /// The end of the timer that drives the activity.
  case timeOver = 4
  /// The end of a room's maximum waiting time.
  case waitingOver = 5
}

typealias ActivityTimer = CampanileService.DueTimer<ActivityTimerKind>
