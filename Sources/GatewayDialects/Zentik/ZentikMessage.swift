import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

/// A message in the format of the app's publishers, validated by the app's rules. All errors are reported at once.
struct ZentikMessage: Sendable {
  static let deliveryTypes: [String: Notification.Priority] = [
    "SILENT": .silent, "NORMAL": .normal, "CRITICAL": .critical, "NO_PUSH": .noPush,
  ]
  static let actionTypes: [String: ActionType] = [
    "NAVIGATE": .navigate, "BACKGROUND_CALL": .backgroundCall, "MARK_AS_READ": .markAsRead, "SNOOZE": .snooze,
    "POSTPONE": .postpone, "OPEN_NOTIFICATION": .openNotification, "WEBHOOK": .webhook, "DELETE": .delete,
  ]
  static let mediaTypes: [String: Attachment.MediaType] = [
    "VIDEO": .video, "IMAGE": .image, "GIF": .gif, "AUDIO": .audio, "ICON": .icon, "FILE": .file,
  ]
  static let titleMax = 100
  static let bodyMax = 500
  static let listMax = 16
  static let minutesMax: Int64 = 525_600
  static let ephemeralMs: Int64 = 3_600_000

  var notification = Notification()
  /// The bucket's id, name or magic code.
  var bucket = ""
  var isScheduled: Bool { notification.deliverTime != nil }

  private var violations: [RPCError.FieldViolation] = []
  private var words = ZentikWords(locale: nil)

  /// Throws INVALID_ARGUMENT with all invalid fields.
  init(_ fields: JSONFields, nowMs: Int64) throws(RPCError) {
    notification.title = text(fields, "title", max: Self.titleMax, isRequired: true) ?? ""
    notification.subtitle = text(fields, "subtitle", max: Self.titleMax)
    notification.body = text(fields, "body", max: Self.bodyMax)
    notification.priority = word(fields, "deliveryType", Self.deliveryTypes, isRequired: true) ?? .normal
    let code = text(fields, "magicCode", max: 128)
    bucket = text(fields, "bucketId", max: 128) ?? code ?? ""
    if bucket.isEmpty { violate("bucketId", "bucketId or magicCode should not be empty", "isNotEmpty") }
    if let key = self.text(fields, "collapseId", max: 64), !key.isEmpty { notification.collapseKey = key }
    notification.sound = text(fields, "sound", max: 128) ?? ""
    notification.threadId = text(fields, "groupId", max: 128) ?? ""
    notification.recipientIds = recipients(fields)
    words = ZentikWords(locale: text(fields, "locale", max: 64))
    readMedia(fields)
    readActions(fields)
    readTimes(fields, nowMs)
    guard violations.isEmpty else {
      throw RPCError(
        .invalidArgument, "Validation failed", reason: "VALIDATION_FAILED", fieldViolations: violations,
        processed: false)
    }
  }

  // MARK: parts

  /// Reads `userIds`: an array, or a list with commas, of the members who get the message; everyone without one.
  private mutating func recipients(_ fields: JSONFields) -> [String] {
    let name = "userIds"
    if fields.raw(name)?.first == UInt8(ascii: "\"") {
      let parts = (text(fields, name, max: 16_384) ?? "").split(separator: ",").map { String($0).trimmingSpaces }
      return parts.filter { !$0.isEmpty }
    }
    return (attempt(name) { () throws(RPCError) in try fields.strings(name, max: 100) } ?? nil) ?? []
  }

  private mutating func readMedia(_ fields: JSONFields) {
    for (index, item) in objects(fields, "attachments").enumerated() {
      let attachment = Attachment(
        mediaType: word(item, "mediaType", Self.mediaTypes, isRequired: true, "attachments[\(index)].") ?? .file,
        url: text(item, "url", max: 2048, "attachments[\(index)].") ?? "",
        name: text(item, "name", max: 256, "attachments[\(index)].") ?? "")
      notification.attachments.append(attachment)
    }
    for (name, type) in [("imageUrl", Attachment.MediaType.image), ("videoUrl", .video), ("gifUrl", .gif)] {
      guard let url = self.text(fields, name, max: 2048), !url.isEmpty else { continue }
      let attachment = Attachment(mediaType: type, url: url)
      notification.attachments.append(attachment)
    }
  }

  private mutating func readActions(_ fields: JSONFields) {
    for (index, item) in objects(fields, "actions").enumerated() {
      if let action = action(item, "actions[\(index)].") { notification.actions.append(action) }
    }
    if let tap = attempt("tapAction", { () throws(RPCError) in try fields.object("tapAction") }) ?? nil {
      notification.tapAction = action(tap, "tapAction.")
    } else if let url = self.text(fields, "tapUrl", max: 2048), !url.isEmpty {
      notification.tapAction = Self.action(.navigate, url, "")
    }
    for minutes in self.minutes(fields, "snoozes") {
      notification.actions.append(Self.action(.snooze, String(minutes), words.snooze(minutes)))
    }
    for minutes in self.minutes(fields, "postpones") {
      notification.actions.append(Self.action(.postpone, String(minutes), words.postpone(minutes)))
    }
    if flag(fields, "addOpenNotificationAction", default: false) {
      notification.actions.append(Self.action(.openNotification, "", words.open))
    }
    if flag(fields, "addMarkAsReadAction", default: true) {
      notification.actions.append(Self.action(.markAsRead, "mark_as_read_notification", words.markAsRead))
    }
    if flag(fields, "addDeleteAction", default: true) {
      var action = Self.action(.delete, "delete_notification", words.delete)
      action.destructive = true
      notification.actions.append(action)
    }
  }

  private mutating func readTimes(_ fields: JSONFields, _ nowMs: Int64) {
    if let text = self.text(fields, "scheduledSendAt", max: 40), !text.isEmpty {
      let time = DialectTimes.time(text)
      if time == nil {
        violate("scheduledSendAt", "scheduledSendAt must be a valid ISO 8601 date string", "isDateString")
      }
      notification.deliverTime = time
    }
    if flag(fields, "ephemeral", default: false) {
      let fromMs = notification.deliverTime?.millisecondsSince1970 ?? nowMs
      notification.expireTime = ProtoTimestamp(millisecondsSince1970: fromMs + Self.ephemeralMs)
    }
    guard let every = number(fields, "remindEveryMinutes", 1...1440) else { return }
    let rule = Repeat(
      every: ProtoDuration(seconds: Int64(every) * 60), maxCount: number(fields, "maxReminders", 1...100) ?? 5)
    notification.`repeat` = rule
  }

  private static func action(_ type: ActionType, _ value: String, _ title: String) -> Action {
    Action(type: type, value: value, title: title)
  }

  private mutating func action(_ item: JSONFields, _ prefix: String) -> Action? {
    guard let type = word(item, "type", Self.actionTypes, isRequired: true, prefix) else { return nil }
    var action = Self.action(
      type, text(item, "value", max: 2048, prefix) ?? "", text(item, "title", max: 128, prefix) ?? "")
    action.destructive = flag(item, "destructive", default: false, prefix)
    action.icon = text(item, "icon", max: 256, prefix) ?? ""
    return action
  }

  // MARK: values

  private mutating func violate(_ property: String, _ description: String, _ constraint: String) {
    guard violations.count < 64 else { return }
    violations.append(.init(field: property, description: description, reason: constraint))
  }

  private mutating func attempt<T>(_ property: String, _ read: () throws(RPCError) -> T) -> T? {
    do throws(RPCError) { return try read() } catch {
      violate(property, error.message, "isValid")
      return nil
    }
  }

  private mutating func text(
    _ fields: JSONFields, _ name: String, max: Int, isRequired: Bool = false, _ prefix: String = ""
  ) -> String? {
    let text = attempt(prefix + name) { () throws(RPCError) in try fields.string(name) } ?? nil
    if isRequired, (text ?? "").isEmpty { violate(prefix + name, "\(name) should not be empty", "isNotEmpty") }
    if let text, text.unicodeScalars.count > max {
      violate(prefix + name, "\(name) must be shorter than or equal to \(max) characters", "maxLength")
    }
    return text
  }

  private mutating func word<Value>(
    _ fields: JSONFields, _ name: String, _ words: [String: Value], isRequired: Bool = false, _ prefix: String = ""
  ) -> Value? {
    guard let text = attempt(prefix + name, { () throws(RPCError) in try fields.string(name) }) ?? nil else {
      if isRequired { violate(prefix + name, "\(name) should not be empty", "isNotEmpty") }
      return nil
    }
    guard let value = words[text] else {
      violate(prefix + name, "\(name) must be one of \(words.keys.sorted().joined(separator: ", "))", "isEnum")
      return nil
    }
    return value
  }

  private mutating func flag(
    _ fields: JSONFields, _ name: String, default value: Bool, _ prefix: String = ""
  ) -> Bool {
    (attempt(prefix + name) { () throws(RPCError) in try fields.bool(name) } ?? nil) ?? value
  }

  private mutating func number(_ fields: JSONFields, _ name: String, _ range: ClosedRange<Int64>) -> Int32? {
    guard let number = attempt(name, { () throws(RPCError) in try fields.integer(name) }) ?? nil else { return nil }
    guard range.contains(number) else {
      violate(name, "\(name) must be \(range.lowerBound) to \(range.upperBound)", "range")
      return nil
    }
    return Int32(number)
  }

  private mutating func minutes(_ fields: JSONFields, _ name: String) -> [Int64] {
    let elements = attempt(name) { () throws(RPCError) in try fields.elements(name, max: Self.listMax) } ?? nil
    return (elements ?? []).compactMap { element in
      guard let minutes = Int64(String(decoding: element, as: UTF8.self)), (1...Self.minutesMax).contains(minutes)
      else {
        violate(name, "each value must be 1 to \(Self.minutesMax) minutes", "range")
        return nil
      }
      return minutes
    }
  }

  private mutating func objects(_ fields: JSONFields, _ name: String) -> [JSONFields] {
    let elements = attempt(name) { () throws(RPCError) in try fields.elements(name, max: Self.listMax) } ?? nil
    return (elements ?? []).compactMap { element in
      attempt(name) { () throws(RPCError) in try JSONFields(element) }
    }
  }
}
