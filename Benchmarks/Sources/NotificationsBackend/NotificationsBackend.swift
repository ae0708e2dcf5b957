public import CampanileAPI
import CampanileRPC
import CampanileStore
import Foundation
import Notifications

/// The suite's own notifications with the store below them, as peers offer them over their own protocols: one user, one bucket.
///
/// So a comparison is one of protocols: what the service does with a request, and what is on the disk when it answers, is the same.
public struct NotificationsBackend: Sendable {
  private let component: NotificationsComponent
  private let reading: CallContext
  private let writing: CallContext
  public let bucketID: String
  /// A notification that is there to be read.
  public let notificationID: String

  /// Opens a new store in a folder, with every commit on the disk before its answer.
  public init(directory: String) async throws {
    let component = try await NotificationsComponent(
      store: StoreConfiguration(path: "\(directory)/notifications.sqlite"),
      nowMs: { Int64(Date().timeIntervalSince1970 * 1000) })
    self.component = component
    func context(_ method: MethodDescriptor) -> CallContext {
      CallContext(method: method, principal: Principal(kind: .user, id: "bench"))
    }
    reading = context(NotificationsServiceMethods.getNotification)
    writing = context(NotificationsServiceMethods.createNotification)
    var request = CreateBucketRequest()
    request.bucket = Bucket()
    request.bucket?.name = "bench"
    let bucket = try await component.service.createBucket(
      request, context: context(NotificationsServiceMethods.createBucket)
    ).bucket
    bucketID = bucket?.id ?? ""
    var draft = CampanileAPI.Notification()
    draft.bucketId = bucketID
    draft.title = "A notification"
    draft.body = String(repeating: "x", count: 200)
    draft.priority = .normal
    notificationID = try await Self.create(draft, component, writing).id
  }

  public func notification(_ id: String) async throws -> CampanileAPI.Notification {
    var request = GetNotificationRequest()
    request.notificationId = id
    return try await component.service.getNotification(request, context: reading).notification
      ?? CampanileAPI.Notification()
  }

  public func create(_ draft: CampanileAPI.Notification) async throws -> CampanileAPI.Notification {
    try await Self.create(draft, component, writing)
  }

  /// Keeps the search index up to date until it fails, as the service does.
  public func index() async throws {
    while true {
      try await component.indexForSearch()
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  private static func create(
    _ draft: CampanileAPI.Notification, _ component: NotificationsComponent, _ context: CallContext
  ) async throws -> CampanileAPI.Notification {
    var request = CreateNotificationRequest()
    request.notification = draft
    return try await component.service.createNotification(request, context: context).notification
      ?? CampanileAPI.Notification()
  }
}
