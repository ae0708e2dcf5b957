import CampanileAPI
import CampanileCodec

/// A chat room's state: yellow while it waits for a peer, green while one is connected.
struct RoomMachine: Sendable, Hashable {
  enum Event: Sendable, Hashable {
    case peerConnected, peerDisconnected, leave
    /// The maximum waiting time is over according to the caller; the machine checks it.
    case waitingOver
  }

  enum Phase: String, Sendable, CaseIterable {
    case waiting, connected

    var title: String {
      switch self {
      case .waiting: "Waiting for peer"
      case .connected: "Peer connected"
      }
    }

    var colorHex: String {
      switch self {
      case .waiting: "#F7C948"
      case .connected: "#34C759"
      }
    }
  }

  private(set) var state: RoomState

  init(_ state: RoomState) { self.state = state }

  /// Creates the state of a room that was just joined.
  init(roomID: String, waitingMinutesMax: Int32, atMs: Int64) {
    state = RoomState()
    state.roomId = roomID
    state.waitingMinutesMax = waitingMinutesMax
    enter(.waiting, atMs: atMs)
  }

  var phase: Phase { Phase(rawValue: state.phase) ?? .waiting }

  /// The end of the waiting time; nil while a peer is connected or if the waiting time is unlimited.
  var waitingEndMs: Int64? {
    guard phase == .waiting, state.waitingMinutesMax > 0 else { return nil }
    return (state.lastUpdated?.millisecondsSince1970 ?? 0) + Int64(state.waitingMinutesMax) * 60_000
  }

  mutating func handle(_ event: Event, atMs: Int64) -> DriverAction {
    switch event {
    case .peerConnected: return move(to: .connected, atMs: atMs)
    case .peerDisconnected: return move(to: .waiting, atMs: atMs)
    case .leave: return .end(.requested, .immediate)
    case .waitingOver:
      guard let waitingEndMs, waitingEndMs <= atMs else { return .keep }
      return .end(.waitedTooLong, .immediate)
    }
  }

  private mutating func move(to next: Phase, atMs: Int64) -> DriverAction {
    guard phase != next else { return .keep }
    enter(next, atMs: atMs)
    return .update
  }

  private mutating func enter(_ phase: Phase, atMs: Int64) {
    state.phase = phase.rawValue
    state.lastUpdated = ProtoTimestamp(millisecondsSince1970: atMs)
  }

  /// Encodes the content-state that the app's widget decodes.
  func content(_ dates: ContentDates) -> String {
    var writer = ContentStateWriter(dates: dates)
    let object = writer.beginObject()
    writer.text(",\"phase\":", phase.rawValue)
    writer.text(",\"roomId\":", state.roomId)
    writer.text(",\"title\":", phase.title)
    writer.text(",\"colorHex\":", phase.colorHex)
    writer.date(",\"lastUpdated\":", ms: state.lastUpdated?.millisecondsSince1970 ?? 0)
    writer.endObject(object)
    return writer.json()
  }
}
