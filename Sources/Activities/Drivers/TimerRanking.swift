import CampanileAPI

/// The stale time and relevance score of a timer whose start gave none, as in the payload of seed 003 and in its app.
enum TimerRanking {
  /// Time after its start at which a timer's state becomes stale: the maximum life of an activity.
  static let staleMs: Int64 = 8 * 3_600_000
  static let running = 100.0
  static let paused = 50.0

  /// Returns the change of the score for a state: a paused timer gives way to others.
  static func score(of state: TimerState) -> OptionalChange<Double> {
    guard state.ranksByItself else { return .keep }
    return .set(state.pauseTime == nil ? running : paused)
  }
}
