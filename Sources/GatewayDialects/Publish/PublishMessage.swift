import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Foundation
import GatewayHTTP

/// The notification that a request to publish describes, and how it was understood.
struct PublishMessage: Sendable {
  static let messageBytesMax = 16_384
  static let ephemeralMs: Int64 = 3_600_000
  /// ntfy's priorities, and the words of this API.
  private static let priorities: [String: CampanileAPI.Notification.Priority] = [
    "1": .silent, "min": .silent, "2": .silent, "low": .silent, "silent": .silent, "3": .normal, "default": .normal,
    "normal": .normal, "4": .normal, "high": .normal, "5": .critical, "max": .critical, "urgent": .critical,
    "critical": .critical, "no_push": .noPush,
  ]

  private(set) var notification = CampanileAPI.Notification()
  private(set) var parameters: PublishParameters
  private var violations = Violations()
  private let nowMs: Int64

  /// Builds the notification. Throws INVALID_ARGUMENT naming every invalid parameter.
  ///
  /// - Parameter body: The request's body.
  init(_ parameters: PublishParameters, body: PublishBody, nowMs: Int64) throws(RPCError) {
    self.parameters = parameters
    self.nowMs = nowMs
    var message = body.text
    if let given = parameters[.message], !given.isEmpty {
      if message?.isEmpty == false { self.parameters.note("body: the parameter message takes precedence") }
      message = given
    }
    readTexts(message ?? "")
    readDelivery()
    readMedia(body)
    readActions()
    try violations.check()
  }

  /// Whether it is published later.
  var isScheduled: Bool { notification.deliverTime != nil }

  // MARK: parts

  private mutating func readTexts(_ message: String) {
    if message.utf8.count > Self.messageBytesMax {
      violations.add("message", "must have at most \(Self.messageBytesMax) bytes", .tooLong)
    }
    notification.subtitle = parameters[.subtitle]
    var title = parameters[.title] ?? ""
    var text = message
    if title.isEmpty {
      // Devices show a title in any case: the message's first line is the best one.
      let line = message.prefix { !$0.isNewline }
      title = String(line.unicodeScalars.prefix(256))
      text = title.unicodeScalars.count < line.unicodeScalars.count ? message : String(message.dropFirst(line.count))
      text = String(text.drop(while: \.isWhitespace))
    }
    if title.isEmpty {
      title = "triggered"
      parameters.note("there is neither a title nor a message")
    }
    let tags = PublishTags.split(parameters[.tags] ?? "")
    if !tags.words.isEmpty {
      if notification.subtitle == nil {
        notification.subtitle = tags.words.joined(separator: ", ")
      } else {
        parameters.note("tags: \(tags.words.count) are not shown, because there is a subtitle")
      }
    }
    notification.title = (tags.symbols + [title]).joined(separator: " ")
    if !text.isEmpty { notification.body = text }
  }

  private mutating func readDelivery() {
    if let text = parameters[.priority], !text.isEmpty {
      if let priority = Self.priorities[text.trimmingSpaces.lowercased()] {
        notification.priority = priority
      } else {
        let words = "1 to 5, min, low, default, high, max, SILENT, NORMAL, CRITICAL or NO_PUSH"
        violations.add("priority", "must be \(words)", .enumUnknown)
      }
    }
    readDelay()
    if let key = parameters[.sequenceId], !key.isEmpty { notification.collapseKey = key }
    notification.sound = parameters[.sound] ?? ""
    notification.threadId = parameters[.groupId] ?? ""
    let recipients = (parameters[.userIds] ?? "").filter { !"[]\"".contains($0) }.split(separator: ",")
    notification.recipientIds = recipients.map { String($0).trimmingSpaces }
    if flag(.ephemeral, default: false) {
      let fromMs = notification.deliverTime?.millisecondsSince1970 ?? nowMs
      notification.expireTime = ProtoTimestamp(millisecondsSince1970: fromMs + Self.ephemeralMs)
    }
    if let every = number(.remindEveryMinutes, 1...1440) {
      notification.`repeat` = Repeat(
        every: ProtoDuration(seconds: every * 60), maxCount: Int32(number(.maxReminders, 1...100) ?? 5))
    }
  }

  private mutating func readDelay() {
    guard let text = parameters[.delay], !text.isEmpty else { return }
    let name = parameters[.timezone] ?? ""
    guard let zone = name.isEmpty ? .gmt : TimeZone(identifier: name) else {
      return violations.add("timezone", "must be an IANA time zone, such as Europe/Rome", .timeZoneUnknown)
    }
    guard let instantMs = PublishTimes.instantMs(text, zone: zone, nowMs: nowMs) else {
      let forms = "30m, 2 hours, 10am, tomorrow 15:30, a Unix time in seconds, or RFC 3339"
      return violations.add("delay", "must be a time: \(forms)", .parameterInvalid)
    }
    guard instantMs > nowMs else { return violations.add("delay", "must be in the future", .timePast) }
    notification.deliverTime = ProtoTimestamp(millisecondsSince1970: instantMs)
  }

  private mutating func readMedia(_ body: PublishBody) {
    if var file = body.file {
      file.name = parameters[.filename] ?? "attachment"
      notification.attachments.append(file)
    }
    if let url = parameters[.attach], !url.isEmpty {
      let name = parameters[.filename] ?? ""
      notification.attachments.append(
        Attachment(mediaType: PublishBody.mediaType(ofName: name.isEmpty ? url : name), url: url, name: name))
    }
    let urls: [(PublishParameter, Attachment.MediaType)] = [
      (.icon, .icon), (.imageUrl, .image), (.videoUrl, .video), (.gifUrl, .gif),
    ]
    for (parameter, type) in urls {
      guard let url = parameters[parameter], !url.isEmpty else { continue }
      notification.attachments.append(Attachment(mediaType: type, url: url))
    }
    guard let text = parameters[.attachments], !text.isEmpty else { return }
    attempt { notes throws(RPCError) in try ZentikAttachments.parse(text) }.map { notification.attachments += $0 }
  }

  private mutating func readActions() {
    if let url = parameters[.click], !url.isEmpty {
      notification.tapAction = Action(type: .navigate, value: url)
    }
    if let text = parameters[.tapAction], !text.isEmpty {
      notification.tapAction = attempt { notes throws(RPCError) in try PublishActions.parse(text, &notes).first } ?? nil
    }
    if let text = parameters[.actions], !text.isEmpty {
      notification.actions = attempt { notes throws(RPCError) in try PublishActions.parse(text, &notes) } ?? []
    }
    for (parameter, type, verb) in [
      (PublishParameter.snoozes, ActionType.snooze, "Snooze"), (.postpones, .postpone, "Postpone"),
    ] {
      for minutes in minutes(parameter) {
        notification.actions.append(Action(type: type, value: "\(minutes)", title: "\(verb) \(minutes) min"))
      }
    }
    if flag(.addOpenNotificationAction, default: false) {
      notification.actions.append(Action(type: .openNotification, title: "Open"))
    }
    if flag(.addMarkAsReadAction, default: false) {
      notification.actions.append(Action(type: .markAsRead, value: "mark_as_read_notification", title: "Mark as read"))
    }
    if flag(.addDeleteAction, default: false) {
      notification.actions.append(
        Action(type: .delete, value: "delete_notification", destructive: true, title: "Delete"))
    }
  }

  // MARK: values

  /// Returns the result of `read`; nil after recording its error.
  private mutating func attempt<T>(_ read: (inout [String]) throws(RPCError) -> T) -> T? {
    var notes: [String] = []
    do throws(RPCError) {
      let result = try read(&notes)
      for note in notes { parameters.note(note) }
      return result
    } catch {
      for violation in error.fieldViolations {
        violations.add(violation.field, violation.description, Reason(rawValue: violation.reason))
      }
      if error.fieldViolations.isEmpty { violations.add("actions", error.message, Reason(rawValue: error.reason)) }
      return nil
    }
  }

  private mutating func flag(_ parameter: PublishParameter, default value: Bool) -> Bool {
    switch parameters[parameter]?.lowercased() {
    case nil, ""?: return value
    case "true"?, "1"?, "yes"?: return true
    case "false"?, "0"?, "no"?: return false
    default:
      violations.add(parameter.rawValue, "must be true or false", .parameterInvalid)
      return value
    }
  }

  private mutating func number(_ parameter: PublishParameter, _ range: ClosedRange<Int64>) -> Int64? {
    guard let text = parameters[parameter], !text.isEmpty else { return nil }
    guard let number = Int64(text.trimmingSpaces), range.contains(number) else {
      violations.add(parameter.rawValue, "must be \(range.lowerBound) to \(range.upperBound)", .outOfRange)
      return nil
    }
    return number
  }

  private mutating func minutes(_ parameter: PublishParameter) -> [Int64] {
    let text = (parameters[parameter] ?? "").filter { $0 != "[" && $0 != "]" }
    let parts = text.split(separator: ",").map { String($0).trimmingSpaces }
    let found = parts.compactMap { Int64($0) }.filter { (1...ZentikMessage.minutesMax).contains($0) }
    guard found.count == parts.count, found.count <= PublishActions.countMax else {
      let rule = "must be at most \(PublishActions.countMax) numbers of minutes, separated by commas"
      violations.add(parameter.rawValue, rule, .parameterInvalid)
      return []
    }
    return found
  }
}
