import CampanileClient
public import Foundation

/// A file of records that Sync merges record by record.
public protocol SyncContainer: Codable, Hashable, Sendable {
  associatedtype Record: Codable, Hashable, Sendable, Identifiable where Record.ID == String
  /// The name of the asset, such as `notifications.json`.
  static var assetName: String { get }
  /// The type of the asset, such as `NotificationsData`.
  static var recordType: String { get }
  init(records: [Record], syncTimestamp: String)
  var records: [Record] { get set }
  /// ISO 8601.
  var syncTimestamp: String { get set }
}

/// The file of all buckets.
public struct BucketsDataContainer: SyncContainer {
  public static let assetName = "buckets.json"
  public static let recordType = "BucketsData"
  public var buckets: [SyncBucket]
  public var syncTimestamp: String

  public init(records: [SyncBucket], syncTimestamp: String = SyncTime.text(Date())) {
    buckets = records
    self.syncTimestamp = syncTimestamp
  }

  public var records: [SyncBucket] {
    get { buckets }
    set { buckets = newValue }
  }
}

/// The file of the newest notifications.
public struct NotificationsDataContainer: SyncContainer {
  public static let assetName = "notifications.json"
  public static let recordType = "NotificationsData"
  public var notifications: [SyncNotification]
  public var syncTimestamp: String

  public init(records: [SyncNotification], syncTimestamp: String = SyncTime.text(Date())) {
    notifications = records
    self.syncTimestamp = syncTimestamp
  }

  public var records: [SyncNotification] {
    get { notifications }
    set { notifications = newValue }
  }
}

/// The dates of the files, which are ISO 8601 texts.
public enum SyncTime {
  public static func text(_ date: Date) -> String { String(ProtoTimestamp(date).jsonString().dropFirst().dropLast()) }

  /// Returns `nil` if the text is not a date.
  public static func date(_ text: String) -> Date? { (try? ProtoTimestamp(jsonString: "\"\(text)\""))?.date }
}

extension SyncContainer {
  /// The bytes of the file.
  func encoded() throws(RPCError) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    do {
      return [UInt8](try encoder.encode(self))
    } catch {
      throw RPCError(.invalidArgument, "the records cannot be written as JSON: \(error)", reason: "JSON_INVALID")
    }
  }

  init(file: [UInt8]) throws(RPCError) {
    do {
      self = try JSONDecoder().decode(Self.self, from: Data(file))
    } catch {
      throw RPCError(.dataLoss, "\(Self.assetName) is not a file of records: \(error)", reason: "CONTAINER_INVALID")
    }
  }
}
