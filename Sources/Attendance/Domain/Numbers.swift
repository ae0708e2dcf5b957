/// Ids of members and meetings: a prefix and a running number.
enum Numbers {
  static func memberID(_ number: Int64) -> String { "m_\(number)" }
  static func meetingID(_ number: Int64) -> String { "t_\(number)" }

  /// Nil for a text that is no member's id.
  static func member(_ id: String) -> Int64? { number(id, "m_") }
  /// Nil for a text that is no meeting's id.
  static func meeting(_ id: String) -> Int64? { number(id, "t_") }

  /// Only the text that this service itself would write, so that an object has one id.
  private static func number(_ id: String, _ prefix: String) -> Int64? {
    guard (3...20).contains(id.utf8.count), id.hasPrefix(prefix), let number = Int64(id.dropFirst(2)), number > 0,
      id == prefix + String(number)
    else { return nil }
    return number
  }
}
