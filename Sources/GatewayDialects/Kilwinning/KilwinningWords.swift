import CampanileAPI
import CampanileCodec

/// The app's Italian names for Attendance's enum values.
enum KilwinningWords {
  static let degrees: [(word: String, value: Degree)] = [
    ("Apprendista", .apprentice), ("Compagno", .fellow), ("Maestro", .master),
  ]
  static let offices: [(word: String, value: Office)] = [
    ("Nessuno", .noneValue), ("Ven.mo Maestro", .worshipfulMaster), ("1° Sorvegliante", .seniorWarden),
    ("2° Sorvegliante", .juniorWarden), ("Oratore", .orator), ("Segretario", .secretary), ("Tesoriere", .treasurer),
    ("Ospitaliere", .almoner), ("Maestro delle Cerimonie", .masterOfCeremonies), ("Copritore Interno", .innerGuard),
    ("Copritore Esterno", .tyler),
  ]
  static let types: [(word: String, value: MeetingType)] = [
    ("ordinaria", .ordinary), ("straordinaria", .extraordinary), ("cerimonia", .ceremony),
  ]
  static let statuses: [(word: String, value: MeetingStatus)] = [
    ("programmata", .scheduled), ("completata", .completed), ("annullata", .cancelled),
  ]
  static let ownLocation = "Nostra Loggia - Tolfa"
  static let otherLocation = "Loggia in Visita"

  /// Returns the name of a value, or the table's first name for an unknown one, because the app's decoders fail on
  /// unknown names.
  static func word<Value: Equatable>(_ value: Value, _ table: [(word: String, value: Value)]) -> String {
    (table.first { $0.value == value } ?? table.first)?.word ?? ""
  }

  static func value<Value>(_ word: String, _ table: [(word: String, value: Value)]) -> Value? {
    table.first { $0.word == word }?.value
  }

  /// Returns which of the app's two places a location is.
  static func place(_ location: String) -> String {
    location.isEmpty || location == ownLocation ? ownLocation : otherLocation
  }

  /// Returns the name of a status. The app has none for excused absences, so they count as absences.
  static func presence(_ status: AttendanceStatus) -> String {
    switch status {
    case .present: "Presente"
    case .absent, .excused: "Assente"
    default: "Non Confermato"
    }
  }
}
