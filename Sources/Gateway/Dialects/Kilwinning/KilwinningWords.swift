import CampanileAPI
import CampanileCodec

/// The app's Italian words for what Attendance names by enums.
enum KilwinningWords {
  static let degrees: [(word: String, value: Degree)] = [
    ("Apprendista", .apprentice), ("Compagno", .fellow), ("Maestro", .master),
  ]
  static let offices: [(word: String, value: Office)] = [
    ("Nessuno", .unspecified), ("Ven.mo Maestro", .worshipfulMaster), ("1° Sorvegliante", .seniorWarden),
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

  /// The first word stands for what the table does not have, since the app's decoders fail on words they do not know.
  static func word<Value: Equatable>(_ value: Value, _ table: [(word: String, value: Value)]) -> String {
    (table.first { $0.value == value } ?? table.first)?.word ?? ""
  }

  static func value<Value>(_ word: String, _ table: [(word: String, value: Value)]) -> Value? {
    table.first { $0.word == word }?.value
  }

  /// Which of the two places that the app knows a location is.
  static func place(_ location: String) -> String {
    location.isEmpty || location == ownLocation ? ownLocation : otherLocation
  }

  /// Absences with an excuse are absences to the app, which has no word for them.
  static func presence(_ status: AttendanceStatus) -> String {
    switch status {
    case .present: "Presente"
    case .absent, .excused: "Assente"
    default: "Non Confermato"
    }
  }
}
