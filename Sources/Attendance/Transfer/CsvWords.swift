import CampanileAPI
import CampanileCodec

/// The words for enums in files: the proto names in lower case without their prefixes.
enum CsvWords {
  static let degrees: [(String, Degree)] = [("apprentice", .apprentice), ("fellow", .fellow), ("master", .master)]
  static let offices: [(String, Office)] = [
    ("worshipful_master", .worshipfulMaster), ("senior_warden", .seniorWarden), ("junior_warden", .juniorWarden),
    ("orator", .orator), ("secretary", .secretary), ("treasurer", .treasurer), ("almoner", .almoner),
    ("master_of_ceremonies", .masterOfCeremonies), ("inner_guard", .innerGuard), ("tyler", .tyler),
  ]
  static let roles: [(String, MemberRole)] = [("member", .member), ("secretary", .secretary), ("admin", .admin)]
  static let types: [(String, MeetingType)] = [
    ("ordinary", .ordinary), ("extraordinary", .extraordinary), ("ceremony", .ceremony),
  ]
  static let meetingStatuses: [(String, MeetingStatus)] = [
    ("scheduled", .scheduled), ("completed", .completed), ("cancelled", .cancelled),
  ]
  static let statuses: [(String, AttendanceStatus)] = [
    ("present", .present), ("absent", .absent), ("excused", .excused), ("not_confirmed", .notConfirmed),
  ]
  static let booleans: [(String, Bool)] = [("true", true), ("false", false)]

  /// Returns the word for a value; empty if there is none.
  static func word<V: Equatable>(_ value: V, _ words: [(String, V)]) -> String {
    words.first { $0.1 == value }?.0 ?? ""
  }

  /// Returns the value for a word, ignoring case; nil if there is none.
  static func value<V>(_ word: String, _ words: [(String, V)]) -> V? {
    let lower = word.lowercased()
    return words.first { $0.0 == lower }?.1
  }

  /// Returns RFC 3339 as ProtoJSON writes it, without the quotes.
  static func text(_ time: ProtoTimestamp?) -> String {
    time.map { String($0.jsonString().dropFirst().dropLast()) } ?? ""
  }

  static func time(_ text: String) -> ProtoTimestamp? {
    guard text.utf8.count <= 40, !text.utf8.contains(UInt8(ascii: "\"")), !text.utf8.contains(UInt8(ascii: "\\"))
    else { return nil }
    return try? ProtoTimestamp(jsonUTF8: Array("\"\(text)\"".utf8))
  }
}
