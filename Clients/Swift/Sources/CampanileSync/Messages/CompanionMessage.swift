import CampanileClient
public import Foundation

/// A message between a user's devices, in the form that apps exchange over WatchConnectivity.
public struct CompanionMessage: Codable, Hashable, Sendable {
  public enum UpdateType: String, Codable, Sendable, CaseIterable {
    case notificationRead, notificationDeleted, bucketCreated, bucketUpdated, bucketDeleted
    /// Everything may have changed.
    case fullSync
  }

  public var type: UpdateType
  /// The id of the notification or bucket; `nil` only for a full sync.
  public var entityId: String?
  /// ISO 8601.
  public var timestamp: String

  public init(_ type: UpdateType, entityID: String? = nil, at date: Date = Date()) {
    self.type = type
    entityId = entityID
    timestamp = SyncTime.text(date)
  }

  /// Creates the message that Sync has delivered. A type that this version does not know counts as a full sync.
  public init(_ message: SyncUpdateMessage) {
    type =
      switch message.type {
      case .notificationRead: .notificationRead
      case .notificationDeleted: .notificationDeleted
      case .bucketCreated: .bucketCreated
      case .bucketUpdated: .bucketUpdated
      case .bucketDeleted: .bucketDeleted
      default: .fullSync
      }
    entityId = message.entityId.isEmpty ? nil : message.entityId
    timestamp = message.eventTime.map { SyncTime.text($0.date) } ?? ""
  }

  /// The message for Sync.
  var message: SyncUpdateMessage {
    let type: SyncUpdateType =
      switch self.type {
      case .notificationRead: .notificationRead
      case .notificationDeleted: .notificationDeleted
      case .bucketCreated: .bucketCreated
      case .bucketUpdated: .bucketUpdated
      case .bucketDeleted: .bucketDeleted
      case .fullSync: .fullSync
      }
    return SyncUpdateMessage(
      type: type, entityId: entityId ?? "", eventTime: SyncTime.date(timestamp).map { ProtoTimestamp($0) })
  }
}
