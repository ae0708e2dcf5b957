import CampanileAPI
import CampanileCodec

/// The members of a push next to `aps`: `data`, and those that the Zentik app's extensions read.
///
/// - `nid`, `bid`, `mid`: the ids of the notification, its bucket and its message, which is the notification, too.
/// - `dty`: SILENT, NORMAL or CRITICAL. `tit`, `stl`, `bdy`: the texts. `bi`: the URL of the bucket's icon.
/// - `att`: attachments as `TYPE:URL`, without icons. `act`: actions. `tap`: the action of a tap.
/// - `selfDownload`: something was left out for want of space, so the extension fetches the notification.
///
/// Source of the names: the app's notification service extension and its server's `ios-push.service.ts`.
struct AlertPayload: Sendable, Hashable {
  static let bucketNameBytesMax = 200
  static let urlBytesMax = 800

  /// A JSON object: `bucketId`, `bucketName`, `mediaUrl` and `tapUrl`.
  var data: String
  /// A JSON object, whose members are placed next to `aps`.
  var members: String

  /// Returns the most complete payload that fits. Texts are left out first, because `aps` has them.
  ///
  /// - Parameters:
  ///   - sizeBytes: The space for both objects.
  ///   - isCut: Whether `aps` has shortened texts.
  init(_ notification: Notification, of bucket: Bucket?, fitting sizeBytes: Int, isCut: Bool) {
    let ids = Self.ids(notification, isComplete: !isCut)
    let partialIDs = Self.ids(notification, isComplete: false)
    let contents = Self.contents(notification, of: bucket)
    let data = Self.data(notification, of: bucket)
    let choices: [(data: [String: JSONTree], members: [String: JSONTree])] = [
      (data, ids.merging(contents) { $1 }.merging(Self.texts(notification)) { $1 }),
      (data, ids.merging(contents) { $1 }), (data, partialIDs),
    ]
    for choice in choices {
      self.data = Self.json(choice.data)
      members = Self.json(choice.members)
      if self.data.utf8.count + members.utf8.count <= sizeBytes { return }
    }
    self.data = Self.json(["bucketId": .string(notification.bucketId)])
    members = Self.json(partialIDs)
  }

  private static func ids(_ notification: Notification, isComplete: Bool) -> [String: JSONTree] {
    let priority = notification.priority == .unspecified ? .normal : notification.priority
    var members: [String: JSONTree] = [
      "nid": .string(notification.id), "mid": .string(notification.id), "bid": .string(notification.bucketId),
      "dty": .string(priority.appName("PRIORITY_") ?? "NORMAL"),
    ]
    if !isComplete { members["selfDownload"] = .bool(true) }
    return members
  }

  private static func texts(_ notification: Notification) -> [String: JSONTree] {
    var members: [String: JSONTree] = ["tit": .string(notification.title)]
    if let subtitle = notification.subtitle { members["stl"] = .string(subtitle) }
    if let body = notification.body { members["bdy"] = .string(body) }
    return members
  }

  private static func contents(_ notification: Notification, of bucket: Bucket?) -> [String: JSONTree] {
    let tap =
      notification.tapAction ?? Action(type: .openNotification, value: notification.id)
    var members: [String: JSONTree] = ["tap": action(tap)]
    if !notification.actions.isEmpty { members["act"] = .array(notification.actions.map(action)) }
    let media = notification.attachments.filter { !$0.url.isEmpty && $0.mediaType != .icon }
    if !media.isEmpty {
      members["att"] = .array(
        media.map { .string("\($0.mediaType.appName("MEDIA_TYPE_") ?? "FILE"):\($0.url)") })
    }
    if let icon = bucket?.iconUrl, icon.utf8.count <= urlBytesMax { members["bi"] = .string(icon) }
    return members
  }

  private static func action(_ action: Action) -> JSONTree {
    var members: [String: JSONTree] = [
      "type": .string(action.type.appName("ACTION_TYPE_") ?? ""), "value": .string(action.appValue),
    ]
    if !action.title.isEmpty { members["title"] = .string(action.title) }
    if !action.icon.isEmpty { members["icon"] = .string(action.icon) }
    if action.destructive { members["destructive"] = .bool(true) }
    return .object(members)
  }

  /// URLs that are too long are left out; `mediaUrl` is the first attachment's with a short enough one.
  private static func data(_ notification: Notification, of bucket: Bucket?) -> [String: JSONTree] {
    var members: [String: JSONTree] = ["bucketId": .string(notification.bucketId)]
    if let name = bucket?.name { members["bucketName"] = .string(AlertRules.fitting(name, bucketNameBytesMax)) }
    let media = notification.attachments.first { !$0.url.isEmpty && $0.url.utf8.count <= urlBytesMax }
    if let media { members["mediaUrl"] = .string(media.url) }
    if let url = notification.tapURL, url.utf8.count <= urlBytesMax { members["tapUrl"] = .string(url) }
    return members
  }

  private static func json(_ members: [String: JSONTree]) -> String {
    var writer = JSONWriter(capacity: 512)
    JSONTree.object(members).write(to: &writer)
    return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }
}

extension ProtoEnum {
  /// The value's name without the prefix of its enum, as apps write it; nil for an unknown value.
  func appName(_ prefix: String) -> String? {
    protoName.map { String($0.description.dropFirst(prefix.utf8.count)) }
  }
}

extension Action {
  /// The value, or the fixed word that the apps expect for a type without one.
  var appValue: String {
    switch type {
    case .markAsRead: ActionRules.markAsReadValue
    case .delete: ActionRules.deleteValue
    default: value
    }
  }
}

extension Notification {
  /// The URL that a tap opens; nil if a tap opens the notification or does something else.
  var tapURL: String? { tapAction?.type == .navigate ? tapAction?.value : nil }
}
