public import CampanileCodec

/// Rules for times in requests.
public enum TimeRules {
  /// Returns the first whole millisecond at or after a time; creation times have millisecond precision.
  public static func milliseconds(
    _ time: ProtoTimestamp?, _ field: String, _ violations: inout Violations
  ) -> Int64? {
    guard let time else { return nil }
    // The years 1 to 9999, the range of google.protobuf.Timestamp.
    guard (-62_135_596_800...253_402_300_799).contains(time.seconds), (0...999_999_999).contains(time.nanos) else {
      violations.add(field, "must be in the years 1 to 9999, with 0 to 999999999 nanos", .outOfRange)
      return nil
    }
    return time.seconds * 1_000 + (Int64(time.nanos) + 999_999) / 1_000_000
  }
}
