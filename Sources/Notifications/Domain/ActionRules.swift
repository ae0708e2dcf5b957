import CampanileAPI
import CampanileCodec
import CampanileService

/// Validates an action's value by its type, which its constraints cannot express.
enum ActionRules {
  static let valueMax = 2_048
  /// One year.
  static let minutesMax = 525_600
  /// The values that apps send with the two types that need none.
  static let markAsReadValue = "mark_as_read_notification"
  static let deleteValue = "delete_notification"
  static let methods: Set<String> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]

  static func check(_ action: Action, _ path: String, _ violations: inout Violations) {
    guard action.value.unicodeScalars.count <= valueMax else { return }
    if let fault = fault(of: action) { violations.add("\(path).value", fault.description, fault.reason) }
  }

  private typealias Fault = (description: String, reason: Reason)

  private static func fault(of action: Action) -> Fault? {
    let value = action.value
    switch action.type {
    case .unspecified, .unrecognized: return nil
    case .navigate:
      if value.isEmpty { return ("must be the URL to open", .required) }
      return URLRules.isNavigable(value[...])
        ? nil : ("must be an absolute URL with a scheme that may be opened", .urlInvalid)
    case .backgroundCall: return isBackgroundCall(value) ? nil : ("must be METHOD::URL", .actionValueInvalid)
    case .snooze, .postpone:
      return isMinutes(value) ? nil : ("must be 1 to \(minutesMax) minutes", .actionValueInvalid)
    case .webhook:
      return TextRules.isIdentifier(value) ? nil : ("must be the id of a webhook", .actionValueInvalid)
    case .openNotification:
      return value.isEmpty || TextRules.isIdentifier(value)
        ? nil : ("must be empty or the id of a notification", .actionValueInvalid)
    case .markAsRead: return fixed(value, markAsReadValue)
    case .delete: return fixed(value, deleteValue)
    }
  }

  /// The apps send the type's own name as the value. It carries no information, so it may be omitted.
  private static func fixed(_ value: String, _ word: String) -> Fault? {
    value.isEmpty || value == word ? nil : ("must be empty or \(word)", .actionValueInvalid)
  }

  private static func isMinutes(_ value: String) -> Bool {
    guard (1...6).contains(value.utf8.count), value.utf8.allSatisfy(TextRules.isDigit), let minutes = Int(value) else {
      return false
    }
    return (1...minutesMax).contains(minutes)
  }

  /// Reports whether the value is `METHOD::URL`: an HTTP method in capitals and a web URL.
  private static func isBackgroundCall(_ value: String) -> Bool {
    let bytes = value.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return false }
    let afterColon = bytes.index(after: colon)
    guard afterColon < bytes.endIndex, bytes[afterColon] == UInt8(ascii: ":") else { return false }
    return methods.contains(String(value[..<colon])) && URLRules.isWebURL(value[bytes.index(after: afterColon)...])
  }
}
