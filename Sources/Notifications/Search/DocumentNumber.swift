import CampanileService
import CampanileStore

/// Document numbers: the 48 bits of the time in the notification's id, followed by 15 bits that order documents of the
/// same time.
///
/// A number is assigned when a notification is indexed. That may be after others of the same time that have greater ids
/// (concurrent calls, import, undeletion), in which case it gets a number between those of its neighbours.
enum DocumentNumber {
  private static let slotBits: Int64 = 15
  /// The distance between numbers of the same time, left free for later insertions.
  private static let gap: Int64 = 8
  private static let attemptsMax = 64

  static let beforeSQL = """
    SELECT document_id FROM search_documents WHERE user_id = $1 AND notification_id < $2
    ORDER BY notification_id DESC LIMIT 1
    """
  static let afterSQL = """
    SELECT document_id FROM search_documents WHERE user_id = $1 AND notification_id > $2
    ORDER BY notification_id LIMIT 1
    """
  static let lastWithinSQL = """
    SELECT document_id FROM search_documents WHERE document_id >= $1 AND document_id < $2
    ORDER BY document_id DESC LIMIT 1
    """
  static let firstWithinSQL = """
    SELECT document_id FROM search_documents WHERE document_id >= $1 AND document_id < $2
    ORDER BY document_id LIMIT 1
    """
  static let takenSQL = "SELECT document_id FROM search_documents WHERE document_id = $1"
  static let highestSQL = "SELECT coalesce(max(document_id), 0) FROM search_documents"

  /// Returns the lowest number for a time.
  static func lowest(timeMs: Int64) -> Int64 { min(max(0, timeMs), SortableID.timeMsMax) << slotBits }

  /// Returns a free number of the time. It preserves the order of the user's notification ids, unless there are so many
  /// of the same time that their neighbours leave none free. Beyond 32,768 documents of the same time, it is the number
  /// after all others.
  static func next(
    notificationID: String, timeMs: Int64, user: String, _ transaction: ReadTransaction
  ) throws -> Int64 {
    let start = lowest(timeMs: timeMs)
    let slot = start..<start + 1 << slotBits
    guard let last = try number(lastWithinSQL, [.integer(slot.lowerBound), .integer(slot.upperBound)], transaction)
    else { return start + 1 << (slotBits - 2) }
    let key: [SQLValue] = [.text(user), .text(notificationID)]
    let before = try number(beforeSQL, key, transaction).flatMap { slot.contains($0) ? $0 : nil }
    let after = try number(afterSQL, key, transaction).flatMap { slot.contains($0) ? $0 : nil }
    let (lower, upper) = ((before ?? start - 1) + 1, after ?? slot.upperBound)
    let wanted =
      switch (before, after) {
      case (_, nil): last + min(gap, max(1, (slot.upperBound - last) / 2))
      case (nil, let after?): max(lower, after - gap)
      case (_?, let after?): lower + (after - lower) / 2
      }
    var candidate = wanted
    for _ in 0..<attemptsMax where candidate < upper {
      if try number(takenSQL, [.integer(candidate)], transaction) == nil { return candidate }
      candidate += 1
    }
    if last + 1 < slot.upperBound { return last + 1 }
    let first = try number(firstWithinSQL, [.integer(slot.lowerBound), .integer(slot.upperBound)], transaction)
    if let first, first > start { return first - 1 }
    return try (number(highestSQL, [], transaction) ?? 0) + 1
  }

  private static func number(
    _ sql: String, _ arguments: [SQLValue], _ transaction: ReadTransaction
  ) throws -> Int64? {
    try transaction.queryOne(sql, arguments) { try $0.integer(0) }
  }
}

extension SortableID {
  /// Returns the time inside an id, or nil for a text that is not an id with this prefix.
  static func timeMs(of id: String, prefix: StaticString) -> Int64? {
    let bytes = Array(id.utf8)
    guard bytes.count == sizeBytes, bytes[0] == prefix.utf8Start[0], bytes[1] == prefix.utf8Start[1] else { return nil }
    var timeMs: Int64 = 0
    for (index, byte) in bytes.dropFirst(2).enumerated() {
      guard let digit = alphabet.firstIndex(of: byte) else { return nil }
      if index < 10 { timeMs = timeMs << 5 | Int64(digit) }
    }
    return timeMs <= timeMsMax ? timeMs : nil
  }
}
