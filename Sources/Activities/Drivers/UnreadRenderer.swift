import CampanileAPI
import CampanileCodec

/// Makes the content-state of a user's unread notifications: the newest few, their number, and when that was.
struct UnreadRenderer: Sendable {
  static let itemsMaxDefault: Int32 = 3
  static let itemsMaxRange: ClosedRange<Int32> = 1...5
  /// Bytes of the state at most: what is left of a payload beside a state, with its alert and attributes, is generous.
  static let sizeBytesMax = 3_584

  let itemsMax: Int32
  let dates: ContentDates

  /// The state; the oldest items are left out until it fits, and then the text of what is left is cut.
  func content(_ summary: UnreadSummary) -> String {
    var items = Array(summary.notifications.prefix(Int(max(0, itemsMax))))
    // Bounded by the items there are, five at most.
    while true {
      let text = write(items, summary)
      if text.utf8.count <= Self.sizeBytesMax { return text }
      if items.count > 1 {
        items.removeLast()
      } else if let only = items.first, only.title != Self.cut(only.title, to: 200) || only.subtitle != nil {
        items[0].title = Self.cut(only.title, to: 200)
        items[0].subtitle = nil
        items[0].bucketIconUrl = nil
      } else {
        items = []
      }
    }
  }

  /// At most so many code points.
  private static func cut(_ text: String, to count: Int) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(count)))
  }

  private func write(_ items: [UnreadItem], _ summary: UnreadSummary) -> String {
    var writer = ContentWriter(dates: dates)
    let object = writer.beginObject()
    writer.name(",\"notifications\":")
    let array = writer.beginArray()
    for item in items {
      writer.nextElement()
      let entry = writer.beginObject()
      writer.text(",\"id\":", item.id)
      writer.text(",\"title\":", item.title)
      writer.text(",\"subtitle\":", item.subtitle)
      writer.text(",\"bucketId\":", item.bucketId)
      writer.text(",\"bucketName\":", item.bucketName)
      writer.text(",\"bucketIconUrl\":", item.bucketIconUrl)
      writer.date(",\"createdAt\":", ms: item.createdAt?.millisecondsSince1970 ?? 0)
      writer.endObject(entry)
    }
    writer.endArray(array)
    writer.integer(",\"unreadCount\":", Int64(summary.unreadCount))
    writer.date(",\"lastUpdate\":", ms: summary.lastUpdate?.millisecondsSince1970 ?? 0)
    writer.endObject(object)
    return writer.json()
  }
}
