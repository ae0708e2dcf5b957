import CampanileAPI
import CampanileCodec
import Testing

@testable import Sync

@Suite struct ExportDiffTests {
  /// Notifications created a second apart, the first one last.
  private static func notifications(_ ids: [Int], read: Set<Int> = []) -> [Notification] {
    ids.sorted(by: >).map { id in
      let time = ProtoTimestamp(seconds: 1_770_000_000 + Int64(id))
      return Notification(
        id: "n_\(id)", bucketId: "b_1", title: "T", createTime: time, updateTime: time,
        readTime: read.contains(id) ? ProtoTimestamp(seconds: 1_780_000_000) : nil)
    }
  }

  private static func buckets(_ names: [String: String]) -> [Bucket] {
    names.sorted { $0.key < $1.key }.map { id, name in Bucket(id: id, name: name) }
  }

  private static func updates(
    buckets: ([String: String], [String: String]) = ([:], [:]),
    notifications: ([Notification], [Notification]) = ([], []), countMax: Int = 5
  ) throws -> [String] {
    func files(_ buckets: [String: String], _ notifications: [Notification], atMs: Int64) throws -> ExportDiff.Files {
      let files = ExportedFiles(buckets: Self.buckets(buckets), notifications: notifications, atMs: atMs)
      return try #require(ExportDiff.Files(buckets: files.buckets, notifications: files.notifications))
    }
    let old = try files(buckets.0, notifications.0, atMs: 1)
    let new = try files(buckets.1, notifications.1, atMs: 2)
    return ExportDiff.updates(from: old, to: new, notificationsMax: countMax).map { update in
      let message = SyncUpdateMessage(type: update.type, entityId: update.entityID)
      return String(AppMessage.json(message).dropFirst(9).prefix { $0 != "," }.dropLast())
        + (update.entityID.isEmpty ? "" : " \(update.entityID)")
    }
  }

  @Test func namesChangesOfBuckets() throws {
    let old = ["b_1": "One", "b_2": "Two", "b_3": "Three"]
    let new = ["b_1": "One", "b_2": "Zwei", "b_4": "Four"]
    #expect(
      try Self.updates(buckets: (old, new)) == ["bucketUpdated b_2", "bucketCreated b_4", "bucketDeleted b_3"])
    #expect(try Self.updates(buckets: (old, old)).isEmpty)
  }

  @Test func namesReadAndDeletedNotifications() throws {
    let old = Self.notifications([1, 2, 3])
    #expect(
      try Self.updates(notifications: (old, Self.notifications([1, 3], read: [3])))
        == ["notificationRead n_3", "notificationDeleted n_2"])
    #expect(try Self.updates(notifications: (old, [])).count == 3)
  }

  @Test("arrivals, unread again and other changes need the whole file")
  func whatHasNoNameIsAFullSync() throws {
    let old = Self.notifications([1, 2], read: [1])
    #expect(try Self.updates(notifications: (old, Self.notifications([1, 2, 3], read: [1]))) == ["fullSync"])
    #expect(try Self.updates(notifications: (old, Self.notifications([1, 2]))) == ["fullSync"])
    var changed = old
    changed[0].title = "Other"
    changed[0].readTime = ProtoTimestamp(seconds: 1)
    #expect(try Self.updates(notifications: (old, changed)) == ["fullSync"])
    // A named change is named in addition.
    #expect(
      try Self.updates(notifications: (old, Self.notifications([1, 2, 3], read: [1, 2])))
        == ["notificationRead n_2", "fullSync"])
  }

  @Test("a full file loses its oldest to new ones, and gets older ones back for deleted ones")
  func theWindowOfAFullFileIsNotAChange() throws {
    let full = Self.notifications([1, 2, 3, 4, 5])
    // 6 arrives and pushes 1 out, which was not deleted.
    #expect(try Self.updates(notifications: (full, Self.notifications([2, 3, 4, 5, 6]))) == ["fullSync"])
    // 4 is deleted, and 0 returns.
    #expect(
      try Self.updates(notifications: (full, Self.notifications([0, 1, 2, 3, 5]))) == ["notificationDeleted n_4"])
    // The file became larger, because the setting has changed.
    #expect(
      try Self.updates(notifications: (full, Self.notifications([0, 1, 2, 3, 4, 5])), countMax: 6) == ["fullSync"])
    // Two were created at the same time: the one that is gone may have been deleted.
    var twins = full
    twins[4].createTime = twins[3].createTime
    let newer = Self.notifications([2, 3, 4, 5, 6])
    #expect(try Self.updates(notifications: (twins, newer)) == ["fullSync"])
  }

  @Test func manyChangesAreOneFullSync() throws {
    let old = Self.notifications(Array(1...60))
    let read = Self.notifications(Array(1...60), read: Set(1...51))
    #expect(try Self.updates(notifications: (old, read), countMax: 100) == ["fullSync"])
    let fewer = Self.notifications(Array(1...60), read: Set(1...50))
    #expect(try Self.updates(notifications: (old, fewer), countMax: 100).count == 50)
  }

  @Test(arguments: ["", "[]", "{}", "{\"buckets\":[1]}", "{\"buckets\":[{\"name\":\"x\"}]}"])
  func refusesOtherTexts(text: String) {
    let files = ExportedFiles(buckets: [], notifications: [], atMs: 0)
    #expect(ExportDiff.Files(buckets: Array(text.utf8), notifications: files.notifications) == nil)
  }
}
