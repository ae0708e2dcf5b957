import Foundation

/// The attributes of an activity that shows unread notifications.
public struct UnreadActivityAttributes: Codable, Hashable, Sendable {
  public typealias ContentState = UnreadContentState
  /// The activity's id in Activities.
  public var id: String

  public init(id: String) { self.id = id }
}

/// The attributes of an activity that shows a chat room.
public struct RoomActivityAttributes: Codable, Hashable, Sendable {
  public typealias ContentState = RoomContentState
  public var roomId: String

  public init(roomId: String) { self.roomId = roomId }
}

/// The attributes of an activity that shows a timer.
public struct TimerActivityAttributes: Codable, Hashable, Sendable {
  public typealias ContentState = TimerContentState
  public var methodId: String
  /// `main` or `quick`.
  public var timerType: String

  public init(methodId: String, timerType: String = "main") {
    self.methodId = methodId
    self.timerType = timerType
  }
}

extension Encodable {
  /// The JSON for `attributes_json` and `content_state_json`, with dates as ActivityKit decodes them.
  public func activityJSON() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}

extension Decodable {
  /// Decodes a pushed state or attributes, as ActivityKit does.
  public init(activityJSON text: String) throws {
    self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
  }
}

#if canImport(ActivityKit) && !os(macOS)
  public import ActivityKit

  extension UnreadActivityAttributes: ActivityAttributes {}
  extension RoomActivityAttributes: ActivityAttributes {}
  extension TimerActivityAttributes: ActivityAttributes {}
#endif
