import CampanileAPI
import CampanileCodec

/// Renders the content-state of a user's unread notifications: the newest items, the unread count, and the time of the
/// summary.
struct UnreadRenderer: Sendable {
  static let itemsMaxDefault: Int32 = 3
  /// Maximum bytes of the state, which leaves ample room in a payload for an alert and attributes.
  static let sizeBytesMax = 3_584

  let itemsMax: Int32
  /// The URL that a tap opens; empty for none.
  let url: String
  let dates: ContentDates

  init(_ state: UnreadState, dates: ContentDates) {
    (itemsMax, url) = (state.itemsMax, state.url)
    self.dates = dates
  }

  /// Renders the state. If it is too large, drops the oldest items, then shortens the remaining text.
  func content(_ summary: UnreadSummary) -> String {
    var items = Array(summary.notifications.prefix(Int(max(0, itemsMax))))
    // Bounded by the number of items, at most five.
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

  /// Returns the first `count` code points.
  private static func cut(_ text: String, to count: Int) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(count)))
  }

  private func write(_ items: [UnreadItem], _ summary: UnreadSummary) -> String {
    var writer = ContentStateWriter(dates: dates)
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
      writer.date(",\"createdAt\":", ms: item.createTime?.millisecondsSince1970 ?? 0)
      writer.endObject(entry)
    }
    writer.endArray(array)
    writer.integer(",\"unreadCount\":", Int64(summary.unreadCount))
    writer.date(",\"lastUpdate\":", ms: summary.updateTime?.millisecondsSince1970 ?? 0)
    writer.text(",\"spokenText\":", SpokenText.unread(summary.unreadCount, newest: items.first))
    writer.url(url)
    writer.endObject(object)
    return writer.json()
  }
}
