import CampanileAPI
import CampanileCodec

/// Reads the values of audit entries from before the migration 0003, whose fields had other names.
///
/// The hash chain covers the stored texts, so a migration cannot rewrite them.
enum AuditNames {
  /// The earlier and the current names of a member's fields.
  private static let members = [("firstName", "givenName"), ("lastName", "familyName")]
  /// The earlier and the current names of the settings that are durations, and the unit of the earlier numbers.
  private static let settings: [(old: String, new: String, seconds: Int64)] = [
    ("lateConfirmationHours", "lateConfirmation", 3_600), ("checkInOpensMinutesBefore", "checkInOpensBefore", 60),
    ("checkInClosesMinutesAfter", "checkInClosesAfter", 60),
  ]

  /// Returns a value with the current names.
  static func current(_ json: [UInt8], subject: String) -> [UInt8] {
    var json = json
    if subject == "settings" {
      for (old, new, seconds) in settings {
        guard let name = range(of: old, in: json) else { continue }
        let digits = json[name.upperBound...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let count = Int64(String(decoding: digits, as: UTF8.self)), count <= Int64.max / seconds else { continue }
        json.replaceSubrange(name.lowerBound..<digits.endIndex, with: Array("\"\(new)\":\"\(count * seconds)s\"".utf8))
      }
    } else if AttendanceIDs.member(subject) != nil {
      for (old, new) in members {
        if let name = range(of: old, in: json) { json.replaceSubrange(name, with: Array("\"\(new)\":".utf8)) }
      }
    }
    // The values about meetings and attendance have their names unchanged.
    return json
  }

  /// Returns the place of a name with its quotes and colon. Nothing else matches, because quotes inside texts are
  /// escaped.
  private static func range(of name: String, in json: [UInt8]) -> Range<Int>? {
    let bytes = Array("\"\(name)\":".utf8)
    let start = json.indices.first { json[$0] == bytes[0] && json[$0...].starts(with: bytes) }
    return start.map { $0..<($0 + bytes.count) }
  }

  /// Returns a value with the fields that earlier values did not have, or omitted because their numbers were 0.
  static func completed(_ state: AuditState) -> AuditState {
    var state = state
    if state.member?.office == .unspecified { state.member?.office = .noneValue }
    for index in state.attendances.indices where state.attendances[index].eventTime == nil {
      state.attendances[index].eventTime = state.attendances[index].updateTime
    }
    if var settings = state.settings {
      // Entries with a language are newer: without a period, members can confirm without limit.
      if settings.language == .unspecified { settings.lateConfirmation = settings.lateConfirmation ?? ProtoDuration() }
      settings.checkInOpensBefore = settings.checkInOpensBefore ?? ProtoDuration()
      state.settings = settings
    }
    return state
  }
}
