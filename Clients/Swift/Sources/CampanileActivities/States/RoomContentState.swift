public import Foundation

/// The state of an activity that shows a chat room, as Activities pushes it.
public struct RoomContentState: Codable, Hashable, Sendable {
  public var phase: RoomStage
  public var roomId: String
  public var title: String
  /// `#RRGGBB`.
  public var colorHex: String
  /// The beginning of the phase.
  public var lastUpdated: Date

  public init(phase: RoomStage, roomId: String, title: String? = nil, colorHex: String? = nil, lastUpdated: Date) {
    self.phase = phase
    self.roomId = roomId
    self.title = title ?? phase.title
    self.colorHex = colorHex ?? phase.colorHex
    self.lastUpdated = lastUpdated
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    phase = RoomStage(rawValue: try container.decode(String.self, forKey: .phase)) ?? .waiting
    roomId = try container.decode(String.self, forKey: .roomId)
    title = try container.decodeIfPresent(String.self, forKey: .title) ?? phase.title
    colorHex = try container.decodeIfPresent(String.self, forKey: .colorHex) ?? phase.colorHex
    lastUpdated = try container.pushedDate(forKey: .lastUpdated)
  }

  /// Creates the state that Activities pushes for a room.
  public init(_ room: RoomState) {
    self.init(
      phase: RoomStage(room.phase), roomId: room.roomId,
      lastUpdated: room.phaseStartTime?.date ?? Date(timeIntervalSince1970: 0))
  }

  /// The first digits of the room's id, for small views.
  public var shortRoomID: String { String(roomId.prefix(8)) }
}

/// The phase of a room in a pushed state. An unknown phase counts as waiting.
public enum RoomStage: String, Codable, Hashable, Sendable, CaseIterable {
  case waiting, connected

  public init(_ phase: RoomPhase) { self = phase == .connected ? .connected : .waiting }

  public var title: String { self == .connected ? "Peer connected" : "Waiting for peer" }
  /// Yellow while the room waits, green while a peer is connected.
  public var colorHex: String { self == .connected ? "#34C759" : "#F7C948" }
  /// The name of an SF Symbol.
  public var symbolName: String { self == .connected ? "checkmark.circle.fill" : "hourglass" }
}
