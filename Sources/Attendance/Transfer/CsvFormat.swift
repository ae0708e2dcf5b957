import CampanileAPI

/// The language and the separator of an exported file.
struct CsvFormat: Sendable, Hashable {
  var isItalian = false
  var separator = UInt8(ascii: ",")
  var hasByteOrderMark = false

  init() {}

  /// - Parameter separator: If it is not set, the language's.
  init(language: LodgeLanguage, separator: CsvSeparator, hasByteOrderMark: Bool) {
    isItalian = language == .italian
    let isSemicolon = separator == .unspecified ? isItalian : separator == .semicolon
    self.separator = UInt8(ascii: isSemicolon ? ";" : ",")
    self.hasByteOrderMark = hasByteOrderMark
  }

  /// Returns the names of columns in the file's language.
  func header(_ columns: [String]) -> [String] { isItalian ? columns.map(CsvColumns.italian(_:)) : columns }
}

/// The names of columns in files.
enum CsvColumns {
  private static let names = ["givenName": "first_name", "familyName": "last_name"]
  private static let translations = [
    ("name", "nome"), ("first_name", "nome_proprio"), ("last_name", "cognome"), ("degree", "grado"),
    ("office", "carica"), ("initiation_date", "data_iniziazione"), ("passing_date", "data_passaggio"),
    ("raising_date", "data_elevazione"), ("active", "attivo"), ("role", "ruolo"), ("user_id", "utente"),
    ("start_time", "inizio"), ("time_zone", "fuso_orario"), ("discussion", "discussione"), ("type", "tipo"),
    ("status", "stato"), ("location", "luogo"), ("has_dinner", "cena"), ("introduced_by", "introdotta_da"),
    ("notes", "note"), ("cover_image_url", "immagine"), ("member_id", "id_fratello"), ("member_name", "fratello"),
    ("meeting_id", "id_tornata"), ("meeting_start_time", "inizio_tornata"), ("eligible", "tornate"),
    ("counted", "tornate_conteggiate"), ("present", "presenze"), ("absent", "assenze"), ("excused", "giustificate"),
    ("unconfirmed", "non_confermate"), ("percentage", "percentuale"), ("current_streak", "presenze_consecutive"),
    ("best_streak", "record"),
  ]
  private static let toItalian = Dictionary(uniqueKeysWithValues: translations)
  private static let toEnglish = Dictionary(uniqueKeysWithValues: translations.map { ($0.1, $0.0) })

  /// Returns the Italian name of a column; `id` and `email` have the same in both languages.
  static func italian(_ column: String) -> String { toItalian[column] ?? column }

  /// Returns the English name of a column with an Italian one; any other name is returned unchanged.
  static func english(_ column: String) -> String { toEnglish[column] ?? column }

  /// Returns the column of a field: `passing_date` for `passingDate`.
  static func column(of field: String) -> String {
    if let name = names[field] { return name }
    var name = ""
    for character in field {
      if character.isUppercase { name += "_" }
      name += character.lowercased()
    }
    return name
  }
}
