/// The source of `aps.timestamp` ("Starting and updating Live Activities with ActivityKit push notifications").
///
/// A device shows the push with the highest timestamp, so every push of an activity must exceed the previous ones,
/// whatever the clock does. The last timestamp is stored with the activity and survives restarts.
enum PushClock {
  /// Returns whole seconds since 1970, greater than `last`.
  static func next(after last: Int64, nowMs: Int64) -> Int64 { max(nowMs / 1_000, last + 1) }
}
