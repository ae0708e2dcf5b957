import Foundation

/// The part of a zone that a device has, as it is stored next to the contents. No I/O.
struct ZoneState: Codable, Hashable {
  /// An asset whose content is stored.
  struct Stored: Codable, Hashable {
    var etag: String
    var version: Int64
    var recordType: String
  }

  var assets: [String: Stored] = [:]
  /// The position in the changes of the zone; empty before the first refresh.
  var resumeToken = ""
  /// The position in the messages of the device.
  var afterSequence: Int64 = 0
  /// The messages that arrived lately, by either way.
  var recentMessages: [String] = []
  var isRegistered = false

  /// The number of messages that the device remembers.
  static let recentMessagesMax = 1_000

  /// Records a message. Returns whether it is new.
  mutating func isNew(_ message: CompanionMessage, from source: String) -> Bool {
    let key = "\(source)/\(message.type.rawValue)/\(message.entityId ?? "")/\(message.timestamp)"
    guard !recentMessages.contains(key) else { return false }
    recentMessages.append(key)
    if recentMessages.count > Self.recentMessagesMax { recentMessages.removeFirst() }
    return true
  }
}
