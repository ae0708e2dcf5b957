/// How an activity is to end, checked.
struct PlannedEnd: Sendable, Hashable {
  var change: ActivityChange
  /// Nil ends it now.
  var endAtMs: Int64?
}
