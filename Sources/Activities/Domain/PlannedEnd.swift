/// A validated end of an activity.
struct PlannedEnd: Sendable, Hashable {
  var change: StateChange
  /// Nil ends it now.
  var endAtMs: Int64?
}
