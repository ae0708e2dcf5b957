import CampanileAPI

/// The result of a change of several notifications, named by their ids.
struct BulkChange: Sendable, Hashable {
  /// The number of notifications that were changed.
  var count = 0
  /// The ids that do not exist, in the order of the request, each once.
  var missingIDs: [String] = []
  /// The unread counts after the change.
  var counts = UnreadCounts()

  /// Returns the ids in their order, each once.
  static func distinct(_ ids: [String]) -> [String] {
    var seen: Set<String> = []
    return ids.filter { seen.insert($0).inserted }
  }
}
