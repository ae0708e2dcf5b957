import CampanileService
import CampanileStore

/// Document numbers: the 48 bits of the time in the notification's id, followed by 15 bits that order documents of the
/// same time.
///
/// A number is assigned when a notification is indexed. That may be long after others of the same time (import,
/// undeletion), in which case it gets a number between those of its neighbours.
enum DocumentNumber {
  private static let slotBits: Int64 = 15
  /// The gap after each new number, left free for later insertions.
  private static let gap: Int64 = 4
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
  static let takenSQL = "SELECT document_id FROM search_documents WHERE document_id = $1"
  static let highestSQL = "SELECT coalesce(max(document_id), 0) FROM search_documents"

  /// Returns the lowest number for a time.
  static func lowest(timeMs: Int64) -> Int64 { min(max(0, timeMs), SortableID.timeMsMax) << slotBits }

  /// Returns a free number that preserves the order of the user's notification ids. With more than 8,000 insertions out
  /// of order within one millisecond, only the order among those may be lost.
  static func next(
    notificationID: String, timeMs: Int64, user: String, _ transaction: ReadTransaction
  ) throws -> Int64 {
    let key: [SQLValue] = [.text(user), .text(notificationID)]
    let before = try number(beforeSQL, key, transaction)
    let after = try number(afterSQL, key, transaction) ?? .max
    let lower = max(before.map { $0 + 1 } ?? 0, lowest(timeMs: timeMs))
    let slotEnd = ((lower >> slotBits) + 1) << slotBits
    let last = try number(lastWithinSQL, [.integer(lower), .integer(slotEnd)], transaction)
    let behind = last.map { $0 + gap } ?? lower
    if behind < after, behind < slotEnd { return behind }
    let upper = max(lower, min(after, slotEnd))
    var candidate = lower + (upper - lower) / 2
    for _ in 0..<attemptsMax where candidate < upper {
      if try number(takenSQL, [.integer(candidate)], transaction) == nil { return candidate }
      candidate += 1
    }
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
