/// The date format of an app's content-state. Applies to states that this service creates; callers' states stay
/// unchanged.
public enum ContentDates: String, Sendable, Hashable, CaseIterable {
  /// Seconds since 2001, the default of `Date` in Swift's `JSONDecoder`.
  case foundation
  /// Seconds since 1970.
  case unix
  /// `2026-01-02T03:04:05.678Z`.
  case iso8601

  /// Seconds from 1970 to 2001.
  static let foundationEpochMs: Int64 = 978_307_200_000

  /// Parses `APP=FORMAT` entries. Returns the first invalid entry, if there is one.
  public static func parse(_ entries: [String]) -> (formats: [String: ContentDates], invalid: String?) {
    var formats: [String: ContentDates] = [:]
    for entry in entries {
      let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty, let format = ContentDates(rawValue: String(parts[1])) else {
        return ([:], entry)
      }
      formats[String(parts[0])] = format
    }
    return (formats, nil)
  }
}
