import CampanileAPI
import CampanileCodec

/// Writes buckets and notifications as the files that the apps read. The time comes last, so that two files with the
/// same records differ only at their end.
enum ContainerWriter {
  static func buckets(_ buckets: [Bucket], atMs: Int64) -> [UInt8] {
    container("{\"buckets\":[", buckets, atMs: atMs, write)
  }

  static func notifications(_ notifications: [Notification], atMs: Int64) -> [UInt8] {
    container("{\"notifications\":[", notifications, atMs: atMs, write)
  }

  /// Whether two files have the same records.
  static func isSame(_ file: [UInt8], _ other: [UInt8]) -> Bool {
    guard let mine = records(file), let others = records(other) else { return false }
    return mine == others
  }

  private static let timeMarkBytes = Array("],\"syncTimestamp\":\"".utf8)
  private static let timeBytesMax = 40

  /// Returns the part before the time. The last mark precedes it, because only a quote and a brace follow the time.
  private static func records(_ file: [UInt8]) -> ArraySlice<UInt8>? {
    let first = max(0, file.count - timeBytesMax - timeMarkBytes.count)
    for start in stride(from: file.count - timeMarkBytes.count, through: first, by: -1)
    where start >= 0 && file[start...].starts(with: timeMarkBytes) {
      return file[..<start]
    }
    return nil
  }

  private static func container<Record>(
    _ head: StaticString, _ records: [Record], atMs: Int64, _ write: (Record, inout JSONWriter) -> Void
  ) -> [UInt8] {
    var writer = JSONWriter(capacity: 1_024 * (1 + records.count))
    writer.append(raw: head)
    for (index, record) in records.enumerated() {
      if index > 0 { writer.append(UInt8(ascii: ",")) }
      write(record, &writer)
    }
    writer.append(raw: "],\"syncTimestamp\":")
    ProtoTimestamp(millisecondsSince1970: atMs).encode(to: &writer)
    writer.append(UInt8(ascii: "}"))
    return writer.withUnsafeBytes { [UInt8]($0) }
  }

  private static func write(_ bucket: Bucket, _ writer: inout JSONWriter) {
    text("{\"id\":", bucket.id, &writer)
    text(",\"name\":", bucket.name, &writer)
    text(",\"description\":", bucket.description, &writer)
    text(",\"color\":", bucket.color, &writer)
    text(",\"iconUrl\":", bucket.iconUrl, &writer)
    time(",\"createdAt\":", bucket.createTime, &writer)
    time(",\"updatedAt\":", bucket.updateTime, &writer)
    writer.append(UInt8(ascii: "}"))
  }

  private static func write(_ notification: Notification, _ writer: inout JSONWriter) {
    text("{\"id\":", notification.id, &writer)
    text(",\"title\":", notification.title, &writer)
    text(",\"subtitle\":", notification.subtitle, &writer)
    text(",\"body\":", notification.body, &writer)
    if notification.readTime != nil { time(",\"readAt\":", notification.readTime, &writer) }
    if notification.sendTime != nil { time(",\"sentAt\":", notification.sendTime, &writer) }
    time(",\"createdAt\":", notification.createTime, &writer)
    time(",\"updatedAt\":", notification.updateTime, &writer)
    text(",\"bucketId\":", notification.bucketId, &writer)
    writer.append(raw: ",\"attachments\":[")
    for (index, attachment) in notification.attachments.enumerated() {
      if index > 0 { writer.append(UInt8(ascii: ",")) }
      text("{\"mediaType\":", attachment.mediaType.shortName, &writer)
      if !attachment.url.isEmpty { text(",\"url\":", attachment.url, &writer) }
      if !attachment.name.isEmpty { text(",\"name\":", attachment.name, &writer) }
      writer.append(UInt8(ascii: "}"))
    }
    writer.append(raw: "],\"actions\":[")
    for (index, action) in notification.actions.enumerated() {
      if index > 0 { writer.append(UInt8(ascii: ",")) }
      write(action, &writer)
    }
    writer.append(UInt8(ascii: "]"))
    if let tap = notification.tapAction {
      writer.append(raw: ",\"tapAction\":")
      write(tap, &writer)
    }
    writer.append(UInt8(ascii: "}"))
  }

  private static func write(_ action: Action, _ writer: inout JSONWriter) {
    text("{\"type\":", action.type.shortName, &writer)
    writer.append(raw: ",\"destructive\":")
    writer.bool(action.destructive)
    if !action.value.isEmpty { text(",\"value\":", action.value, &writer) }
    if !action.title.isEmpty { text(",\"title\":", action.title, &writer) }
    if !action.icon.isEmpty { text(",\"icon\":", action.icon, &writer) }
    writer.append(UInt8(ascii: "}"))
  }

  private static func text(_ name: StaticString, _ value: String?, _ writer: inout JSONWriter) {
    guard let value else { return }
    writer.append(raw: name)
    writer.string(value)
  }

  private static func time(_ name: StaticString, _ value: ProtoTimestamp?, _ writer: inout JSONWriter) {
    writer.append(raw: name)
    (value ?? ProtoTimestamp()).encode(to: &writer)
  }
}

extension Attachment.MediaType {
  /// The name that the apps use.
  fileprivate var shortName: String {
    switch self {
    case .image: "IMAGE"
    case .video: "VIDEO"
    case .audio: "AUDIO"
    case .gif: "GIF"
    case .icon: "ICON"
    default: "FILE"
    }
  }
}

extension ActionType {
  /// The name that the apps use.
  fileprivate var shortName: String {
    switch self {
    case .navigate: "NAVIGATE"
    case .backgroundCall: "BACKGROUND_CALL"
    case .markAsRead: "MARK_AS_READ"
    case .snooze: "SNOOZE"
    case .postpone: "POSTPONE"
    case .webhook: "WEBHOOK"
    case .delete: "DELETE"
    default: "OPEN_NOTIFICATION"
    }
  }
}
