/// The labels of the actions that the dialect adds, in the language of a message.
struct ZentikWords: Sendable, Hashable {
  private let isItalian: Bool

  /// - Parameter locale: A language tag such as `it-IT`. Other languages than Italian get English labels, as from the
  ///   app's server.
  init(locale: String?) {
    let language = locale?.split { $0 == "-" || $0 == "_" }.first?.lowercased()
    isItalian = language == "it"
  }

  var markAsRead: String { isItalian ? "Segna come letta" : "Mark as read" }
  var delete: String { isItalian ? "Elimina" : "Delete" }
  var open: String { isItalian ? "Apri" : "Open" }

  func snooze(_ minutes: Int64) -> String { isItalian ? "Silenzia per \(minutes) min" : "Snooze \(minutes) min" }
  func postpone(_ minutes: Int64) -> String { isItalian ? "Posticipa di \(minutes) min" : "Postpone \(minutes) min" }
}
