import CampanileAPI
import CampanileRPC
import CampanileStore
import Foundation
import Notifications

/// Runs the work with a temporary folder and removes the folder afterwards.
func withTemporaryFolder<R>(_ body: (String) throws -> R) throws -> R {
  let path = FileManager.default.temporaryDirectory.appending(path: "guarded-work-\(UUID())").path
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: path) }
  return try body(path)
}

/// Publishes notifications one after the other, each in a separate commit.
enum StoreWork {
  static func write(_ count: Int) throws -> Int {
    try withTemporaryFolder { path in
      try waiting { try await write(count, path) }
    }
  }

  private static func write(_ count: Int, _ folder: String) async throws -> Int {
    let component = try await NotificationsComponent(
      store: StoreConfiguration(path: "\(folder)/notifications.sqlite"), nowMs: { 1_760_000_000_000 },
      random: { 0x0123_4567_89AB_CDEF })
    let principal = Principal(kind: .user, id: "guard")
    var bucket = CreateBucketRequest(bucket: Bucket())
    bucket.bucket?.name = "guard"
    let created = try await component.service.createBucket(
      bucket, context: CallContext(method: NotificationsServiceMethods.createBucket, principal: principal))
    var request = WorkKind.request
    request.requestId = ""
    request.notification?.bucketId = created.bucket?.id ?? ""
    let context = CallContext(method: NotificationsServiceMethods.createNotification, principal: principal)
    var written = 0
    for _ in 0..<count {
      let answer = try await component.service.createNotification(request, context: context)
      written += answer.notification?.id.utf8.count ?? 0
    }
    await component.close()
    return written
  }
}
