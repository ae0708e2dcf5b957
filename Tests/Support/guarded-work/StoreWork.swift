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

/// Calls of the notifications service on a store of its own.
enum StoreWork {
  private static let principal = Principal(kind: .user, id: "guard")

  /// Publishes notifications one after the other, each in a separate commit.
  static func write(_ count: Int) throws -> Int {
    try withNotifications { component in
      let bucketID = try await createBucket(component)
      var written = 0
      for _ in 0..<count { written += try await publish(bucketID, component).utf8.count }
      return written
    }
  }

  /// Reads one notification again and again.
  static func read(_ count: Int) throws -> Int {
    try withNotifications { component in
      let id = try await publish(createBucket(component), component)
      let context = CallContext(method: NotificationsServiceMethods.getNotification, principal: principal)
      var read = 0
      for _ in 0..<count {
        let answer = try await component.service.getNotification(
          GetNotificationRequest(notificationId: id), context: context)
        read += answer.notification?.body?.utf8.count ?? 0
      }
      return read
    }
  }

  private static func withNotifications(
    _ body: @escaping @Sendable (NotificationsComponent) async throws -> Int
  ) throws -> Int {
    try withTemporaryFolder { path in
      try waiting {
        let component = try await NotificationsComponent(
          store: StoreConfiguration(path: "\(path)/notifications.sqlite"), nowMs: { 1_760_000_000_000 },
          random: { 0x0123_4567_89AB_CDEF })
        let result = try await body(component)
        await component.close()
        return result
      }
    }
  }

  private static func createBucket(_ component: NotificationsComponent) async throws -> String {
    var request = CreateBucketRequest(bucket: Bucket())
    request.bucket?.name = "guard"
    let context = CallContext(method: NotificationsServiceMethods.createBucket, principal: principal)
    return try await component.service.createBucket(request, context: context).bucket?.id ?? ""
  }

  private static func publish(_ bucketID: String, _ component: NotificationsComponent) async throws -> String {
    var request = WorkKind.request
    request.requestId = ""
    request.notification?.bucketId = bucketID
    let context = CallContext(method: NotificationsServiceMethods.createNotification, principal: principal)
    return try await component.service.createNotification(request, context: context).notification?.id ?? ""
  }
}
