import CampanileService

/// What is to happen to an activity at a time. The numbers are in the database: never reuse one.
enum TimerKind: Int64, Sendable, CaseIterable {
  /// A scheduled start is pushed.
  case start = 1
  /// A scheduled end.
  case end = 2
  /// Its 8 h are over.
  case expire = 3
  /// A timer's time is over.
  case timeOver = 4
  /// A room has waited as long as it may.
  case waitingOver = 5
}

typealias DueTimer = CampanileService.DueTimer<TimerKind>
