public import CampanileAPI
import CampanileRPC
import CampanileStore
import Foundation
import Notifications

/// The suite's notifications and their store, for peers that serve them over their own protocols. Has one user and one
/// bucket.
///
/// Makes a comparison one of protocols: the service's work per request and the data on disk before the response are the
/// same.
public struct NotificationsBackend: Sendable {
  private let component: NotificationsComponent
  private let reading: CallContext
  private let writing: CallContext
  public let bucketID: String
  /// An existing notification to read.
  public let notificationID: String

  /// Opens a new store in a folder, with every commit on disk before the response.
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

  /// Updates the search index until it fails, as the service does.
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
