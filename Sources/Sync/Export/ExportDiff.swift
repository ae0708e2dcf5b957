import CampanileAPI
import CampanileCodec
import CampanileJSON

/// A change at Notifications, as devices hear of it.
struct EntityUpdate: Sendable, Hashable {
  var type: SyncUpdateType
  /// Empty for `fullSync`.
  var entityID = ""

  static let fullSync = EntityUpdate(type: .fullSync)

  /// The request id of the message, so that a repetition replaces it.
  var requestID: String { "\(type.rawValue)/\(entityID)" }
}

/// Compares two exports of a user's data, and names the changes.
///
/// A notification that was read or deleted, and each changed bucket, has a message of its own. A `fullSync` stands for
/// everything else, such as new notifications, and for many changes. The file contains only the newest notifications:
/// one that leaves it because newer ones arrive was not deleted, and one that returns because newer ones were deleted
/// is not new.
enum ExportDiff {
  /// The maximum number of named changes; more become one `fullSync`.
  static let namedMax = 50

  /// Returns the changes in the order of the files, `fullSync` last.
  ///
  /// - Parameter notificationsMax: The maximum number of notifications in a file.
  static func updates(from old: Files, to new: Files, notificationsMax: Int) -> [EntityUpdate] {
    var changes = Changes()
    compareBuckets(old.buckets, new.buckets, &changes)
    compareNotifications(old.notifications, new.notifications, notificationsMax, &changes)
    if changes.named.count > namedMax { return [.fullSync] }
    return changes.named + (changes.isComplete ? [] : [.fullSync])
  }

  /// Parsed files.
  struct Files {
    fileprivate var buckets: [Record]
    fileprivate var notifications: [Record]

    /// Returns nil if a text is not JSON with records.
    init?(buckets: [UInt8], notifications: [UInt8]) {
      guard let buckets = Self.records(buckets, .buckets),
        let notifications = Self.records(notifications, .notifications)
      else { return nil }
      self.buckets = buckets
      self.notifications = notifications
    }

    private static func records(_ file: [UInt8], _ container: Container) -> [Record]? {
      guard let value = try? JSONValue.parse(file), let elements = value[container.recordsName]?.elements else {
        return nil
      }
      var records: [Record] = []
      records.reserveCapacity(elements.count)
      for element in elements {
        guard case .object(let object) = element, let id = object["id"]?.text else { return nil }
        let created = object["createdAt"]?.text.flatMap { RecordValue.time($0) }
        records.append(Record(id: id, object: object, createdMs: created?.millisecondsSince1970 ?? 0))
      }
      return records
    }
  }

  fileprivate struct Record {
    var id: String
    var object: JSONObject
    var createdMs: Int64
  }

  private struct Changes {
    var named: [EntityUpdate] = []
    /// Whether the named changes are all.
    var isComplete = true
  }

  private static func compareBuckets(_ old: [Record], _ new: [Record], _ changes: inout Changes) {
    let before = index(old)
    for record in new {
      guard let known = before[record.id] else {
        changes.named.append(EntityUpdate(type: .bucketCreated, entityID: record.id))
        continue
      }
      if known.object != record.object {
        changes.named.append(EntityUpdate(type: .bucketUpdated, entityID: record.id))
      }
    }
    let after = index(new)
    for record in old where after[record.id] == nil {
      changes.named.append(EntityUpdate(type: .bucketDeleted, entityID: record.id))
    }
  }

  private static func compareNotifications(
    _ old: [Record], _ new: [Record], _ countMax: Int, _ changes: inout Changes
  ) {
    let (before, after) = (index(old), index(new))
    // A full file hides older notifications. Newest are first.
    let hiddenBeforeMs = old.count >= countMax ? old.last?.createdMs : nil
    let hiddenAfterMs = new.count >= countMax ? new.last?.createdMs : nil
    for record in new {
      if let known = before[record.id] {
        guard known.object != record.object else { continue }
        if isRead(known.object, record.object) {
          changes.named.append(EntityUpdate(type: .notificationRead, entityID: record.id))
        } else {
          changes.isComplete = false
        }
      } else if hiddenBeforeMs.map({ record.createdMs < $0 }) != true {
        changes.isComplete = false
      }
    }
    for record in old where after[record.id] == nil {
      if let hiddenAfterMs, record.createdMs <= hiddenAfterMs {
        // One created at the same time as the last may have left the file or been deleted.
        if record.createdMs == hiddenAfterMs { changes.isComplete = false }
      } else {
        changes.named.append(EntityUpdate(type: .notificationDeleted, entityID: record.id))
      }
    }
  }

  /// Whether a notification has been read, and nothing else has changed.
  private static func isRead(_ old: JSONObject, _ new: JSONObject) -> Bool {
    guard old["readAt"] == nil, new["readAt"] != nil else { return false }
    return unread(old) == unread(new)
  }

  private static func unread(_ object: JSONObject) -> JSONObject {
    var object = object
    object.members.removeAll { $0.name.means("readAt") || $0.name.means("updatedAt") }
    return object
  }

  private static func index(_ records: [Record]) -> [String: Record] {
    Dictionary(records.map { ($0.id, $0) }) { $1 }
  }
}
