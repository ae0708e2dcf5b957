/// Conversions between numbers and the ids of members and meetings: a prefix and a running number.
enum AttendanceIDs {
  static func memberID(_ number: Int64) -> String { "m_\(number)" }
  static func meetingID(_ number: Int64) -> String { "t_\(number)" }

  /// Returns nil if the text is not a member id.
  static func member(_ id: String) -> Int64? { number(id, "m_") }
  /// Returns nil if the text is not a meeting id.
  static func meeting(_ id: String) -> Int64? { number(id, "t_") }

  /// Accepts only the text that this service writes, so that every object has exactly one id.
  private static func number(_ id: String, _ prefix: String) -> Int64? {
    guard (3...20).contains(id.utf8.count), id.hasPrefix(prefix), let number = Int64(id.dropFirst(2)), number > 0,
      id == prefix + String(number)
    else { return nil }
    return number
  }
}
