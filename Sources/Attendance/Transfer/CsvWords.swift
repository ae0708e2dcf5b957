import CampanileAPI
import CampanileCodec

/// The words for the values of an enum in files, in both languages.
struct CsvVocabulary<Value: Equatable & Sendable>: Sendable {
  let words: [(english: String, italian: String, value: Value)]

  init(_ words: [(english: String, italian: String, value: Value)]) { self.words = words }

  /// Returns the word for a value; empty if there is none.
  func word(_ value: Value, isItalian: Bool) -> String {
    words.first { $0.value == value }.map { isItalian ? $0.italian : $0.english } ?? ""
  }

  /// Returns the value for a word of either language, ignoring case; nil if there is none.
  func value(_ word: String) -> Value? {
    let lower = word.lowercased()
    return words.first { $0.english == lower || $0.italian.lowercased() == lower }?.value
  }
}

/// The words for enums in files. The English ones are the proto names in lower case without their prefixes.
enum CsvWords {
  static let degrees = CsvVocabulary<Degree>([
    ("apprentice", "Apprendista", .apprentice), ("fellow", "Compagno", .fellow), ("master", "Maestro", .master),
  ])
  static let offices = CsvVocabulary<Office>([
    ("worshipful_master", "Ven.mo Maestro", .worshipfulMaster), ("senior_warden", "1° Sorvegliante", .seniorWarden),
    ("junior_warden", "2° Sorvegliante", .juniorWarden), ("orator", "Oratore", .orator),
    ("secretary", "Segretario", .secretary), ("treasurer", "Tesoriere", .treasurer),
    ("almoner", "Ospitaliere", .almoner), ("master_of_ceremonies", "Maestro delle Cerimonie", .masterOfCeremonies),
    ("inner_guard", "Copritore Interno", .innerGuard), ("tyler", "Copritore Esterno", .tyler),
  ])
  static let roles = CsvVocabulary<MemberRole>([
    ("member", "fratello", .member), ("secretary", "segretario", .secretary), ("admin", "amministratore", .admin),
  ])
  static let types = CsvVocabulary<MeetingType>([
    ("ordinary", "ordinaria", .ordinary), ("extraordinary", "straordinaria", .extraordinary),
    ("ceremony", "cerimonia", .ceremony),
  ])
  static let meetingStatuses = CsvVocabulary<MeetingStatus>([
    ("scheduled", "programmata", .scheduled), ("completed", "completata", .completed),
    ("cancelled", "annullata", .cancelled),
  ])
  static let statuses = CsvVocabulary<AttendanceStatus>([
    ("present", "presente", .present), ("absent", "assente", .absent), ("excused", "giustificato", .excused),
    ("not_confirmed", "non confermato", .notConfirmed),
  ])
  static let booleans = CsvVocabulary<Bool>([("true", "sì", true), ("false", "no", false)])

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
