import CampanileAPI
import CampanileCodec
import CampanileService

/// Fits the unread summary of a Live Activity into a push.
///
/// Bodies always have at most 256 characters. If the JSON still exceeds `sizeBytesMax`, bodies are shortened, the
/// longest first, and then subtitles. After that, the oldest notifications are dropped and the others use the freed
/// space.
///
/// Texts are cut between grapheme clusters and end with `…`. A text of which nothing would remain is omitted.
enum SummaryShaper {
  /// The maximum size of the JSON: a push of 4096 bytes minus the envelope of a Live Activity.
  static let sizeBytesMax = 3_584
  /// The maximum number of characters of a body, including the truncation mark.
  static let bodyMax = 256
  static let mark: Character = "…"
  private static let markBytes = 3

  /// A summary and its JSON, which the shaper encodes anyway to measure it.
  struct Shaped: Sendable, Hashable {
    var summary: UnreadSummary
    var json: [UInt8]
  }

  /// Shapes a summary.
  ///
  /// - Parameter items: The newest unread notifications, newest first, with their full texts. Only the first five are
  ///   used.
  static func shape(_ items: [UnreadItem], unreadCount: Int, updateMs: Int64) -> Shaped {
    var whole = UnreadSummary(
      unreadCount: Int32(clamping: unreadCount), updateTime: ProtoTimestamp(millisecondsSince1970: updateMs))
    var cappedCount = 0
    whole.notifications = items.prefix(UnreadSummaryRules.sizeMax).map { item in
      guard let body = item.body, let shorter = capped(body) else { return item }
      var item = item
      item.body = shorter
      cappedCount += 1
      return item
    }
    if cappedCount > 0 {
      whole.truncation = SummaryTruncation()
      whole.truncation?.shortenedBodyCount = Int32(cappedCount)
    }
    let json = whole.jsonUTF8Bytes()
    if json.count <= sizeBytesMax { return Shaped(summary: whole, json: json) }
    return fit(whole, originals: items)
  }

  /// Drops the oldest notifications one by one until shortening suffices.
  private static func fit(_ whole: UnreadSummary, originals: [UnreadItem]) -> Shaped {
    let count = whole.notifications.count
    for kept in stride(from: count, through: 0, by: -1) {
      var summary = whole
      summary.notifications.removeLast(count - kept)
      // A URL of 2 KiB can leave no space for the only notification; devices have a default icon.
      if kept == 1 { dropOversizedIcon(&summary) }
      // Placeholders: the three counts always have one digit, because a summary has at most five notifications.
      let truncation = SummaryTruncation(shortenedBodyCount: 5, shortenedSubtitleCount: 5, droppedCount: 5)
      summary.truncation = truncation
      shorten(\.body, in: &summary)
      shorten(\.subtitle, in: &summary)
      summary.truncation = truth(summary, originals, dropped: count - kept)
      let json = summary.jsonUTF8Bytes()
      if json.count <= sizeBytesMax { return Shaped(summary: summary, json: json) }
    }
    // Unreachable: without notifications, the JSON has about two hundred bytes.
    var empty = whole
    empty.notifications = []
    return Shaped(summary: empty, json: empty.jsonUTF8Bytes())
  }

  private static func dropOversizedIcon(_ summary: inout UnreadSummary) {
    var bare = summary
    bare.notifications[0].body = nil
    bare.notifications[0].subtitle = nil
    // The remaining 128 bytes are reserved for the truncation.
    if bare.jsonUTF8Bytes().count > sizeBytesMax - 128 { summary.notifications[0].bucketIconUrl = nil }
  }

  private static func truth(_ summary: UnreadSummary, _ originals: [UnreadItem], dropped: Int) -> SummaryTruncation? {
    var truncation = SummaryTruncation()
    for (item, original) in zip(summary.notifications, originals) {
      if item.body != original.body { truncation.shortenedBodyCount += 1 }
      if item.subtitle != original.subtitle { truncation.shortenedSubtitleCount += 1 }
    }
    truncation.droppedCount = Int32(dropped)
    return truncation == SummaryTruncation() ? nil : truncation
  }

  /// Shortens one text of every item to a common size, by as little as necessary. Shorter texts remain unchanged.
  private static func shorten(_ text: WritableKeyPath<UnreadItem, String?>, in summary: inout UnreadSummary) {
    let excess = summary.jsonUTF8Bytes().count - sizeBytesMax
    guard excess > 0 else { return }
    let costs = summary.notifications.map { item in item[keyPath: text].map(cost) ?? 0 }
    let level = level(costs, sum: max(0, costs.reduce(0, +) - excess))
    for (index, cost) in costs.enumerated() where cost > level {
      guard let whole = summary.notifications[index][keyPath: text] else { continue }
      summary.notifications[index][keyPath: text] = cut(whole, toCost: level)
    }
  }

  /// Returns the largest common size limit with which all texts together have at most `sum` bytes.
  private static func level(_ costs: [Int], sum: Int) -> Int {
    var left = sum
    let ascending = costs.sorted()
    for (index, cost) in ascending.enumerated() {
      let share = left / (ascending.count - index)
      if cost > share { return share }
      left -= cost
    }
    return ascending.last ?? 0
  }

  /// Returns a prefix with the truncation mark whose JSON has at most `limit` bytes, or nil if not even one character
  /// fits.
  static func cut(_ text: String, toCost limit: Int) -> String? {
    var left = limit - markBytes
    var end = text.startIndex
    while end < text.endIndex {
      let next = text.index(after: end)
      left -= cost(text[end..<next])
      if left < 0 { break }
      end = next
    }
    return end == text.startIndex ? nil : marked(text[..<end])
  }

  /// Returns a body cut to 256 characters, or nil if it is not longer.
  private static func capped(_ body: String) -> String? {
    // A character has at least one byte.
    guard body.utf8.count > bodyMax,
      let end = body.index(body.startIndex, offsetBy: bodyMax, limitedBy: body.endIndex), end < body.endIndex
    else { return nil }
    return marked(body[..<body.index(before: end)])
  }

  private static func marked(_ text: Substring) -> String {
    var result = String(text)
    result.append(mark)
    return result
  }

  /// The size of a text in JSON in bytes, without its quotes.
  static func cost(_ text: some StringProtocol) -> Int {
    text.utf8.withContiguousStorageIfAvailable(cost(utf8:))
      ?? ContiguousArray(text.utf8).withUnsafeBufferPointer(cost(utf8:))
  }

  /// Without branches, so that the compiler uses vector instructions: pages of a list measure all their texts.
  private static func cost(utf8 bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var size = bytes.count
    for byte in bytes {
      let isShort = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 9 || byte == 10 || byte == 13
      size &+= isShort ? 1 : byte < 0x20 ? 5 : 0
    }
    return size
  }
}

/// The number of notifications in an unread summary.
enum UnreadSummaryRules {
  static let sizeMin = 3
  static let sizeMax = 5

  /// Returns the size for a user's setting; 0 means the largest.
  static func size(_ setting: Int32) -> Int { setting == 0 ? sizeMax : min(max(Int(setting), sizeMin), sizeMax) }
}
