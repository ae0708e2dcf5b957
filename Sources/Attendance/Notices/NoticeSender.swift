public import CampanileAPI
import CampanileBase
public import CampanileRPC
import CampanileService

/// The service that notifies users: `campanile-notifications`.
public protocol NoticeSending: Sendable {
  /// Creates a bucket of a user and returns its id.
  func create(_ request: CreateBucketRequest, user: String) async throws -> String
  /// Creates a notification of a user.
  func create(_ request: CreateNotificationRequest, user: String) async throws
}

/// Calls the notifications service over the suite's own wire protocol.
public struct NoticeSender: NoticeSending {
  /// Both calls have request ids and can be repeated safely, so a short time limit suffices.
  private static let timeoutMs: Int64 = 10_000

  private let client: NotificationsServiceClient

  /// - Parameter caller: Sends the internal token with each call.
  public init(_ caller: any RPCCaller) { client = NotificationsServiceClient(caller) }

  public func create(_ request: CreateBucketRequest, user: String) async throws -> String {
    let response = try await client.createBucket(request, options: options(user))
    guard let bucket = response.bucket else {
      throw RPCError(.internalError, "the response has no bucket", reason: "REPLY_INVALID")
    }
    return bucket.id
  }

  public func create(_ request: CreateNotificationRequest, user: String) async throws {
    _ = try await client.createNotification(request, options: options(user))
  }

  private func options(_ user: String) -> CallOptions {
    CallOptions(
      timeoutMs: Self.timeoutMs, metadata: [Principal.metadataKey: Principal(kind: .user, id: user).name])
  }
}
