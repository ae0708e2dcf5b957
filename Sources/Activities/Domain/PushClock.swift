/// `aps.timestamp`: the device takes the push with the highest, so every push of an activity must have a higher one than
/// those before, whatever the clock does. The last one is kept with the activity, which makes it hold across restarts.
enum PushClock {
  /// Whole seconds since 1970, above `last`.
  static func next(after last: Int64, nowMs: Int64) -> Int64 { max(nowMs / 1_000, last + 1) }
}
