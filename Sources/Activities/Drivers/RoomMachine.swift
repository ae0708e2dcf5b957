import CampanileAPI
import CampanileCodec

/// A chat room's state: yellow while it waits for a peer, green while one is connected.
struct RoomMachine: Sendable, Hashable {
  enum Event: Sendable, Hashable {
    case peerConnected, peerDisconnected, leave
    /// The maximum waiting time is over according to the caller; the machine checks it.
    case waitingOver
  }

  private(set) var state: RoomState

  init(_ state: RoomState) { self.state = state }

  /// Creates the state of a room that was just joined.
  init(roomID: String, waitingLimit: ProtoDuration?, url: String = "", atMs: Int64) {
    state = RoomState(roomId: roomID, waitingLimit: waitingLimit, url: url)
    enter(.waiting, atMs: atMs)
  }

  private var phaseStartMs: Int64 { state.phaseStartTime?.millisecondsSince1970 ?? 0 }

  /// The end of the waiting time; nil while a peer is connected or if the waiting time is unlimited.
  var waitingEndMs: Int64? {
    guard state.phase == .waiting, let limit = state.waitingLimit else { return nil }
    return phaseStartMs + limit.milliseconds
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

  private mutating func move(to next: RoomPhase, atMs: Int64) -> DriverAction {
    guard state.phase != next else { return .keep }
    enter(next, atMs: atMs)
    return .update
  }

  private mutating func enter(_ phase: RoomPhase, atMs: Int64) {
    state.phase = phase
    state.phaseStartTime = ProtoTimestamp(millisecondsSince1970: atMs)
  }

  /// Encodes the content-state that the app's widget decodes.
  func content(_ dates: ContentDates) -> String {
    var writer = ContentStateWriter(dates: dates)
    let object = writer.beginObject()
    writer.text(",\"phase\":", state.phase.contentName)
    writer.text(",\"roomId\":", state.roomId)
    writer.text(",\"title\":", state.phase.title)
    writer.text(",\"colorHex\":", state.phase.colorHex)
    writer.date(",\"lastUpdated\":", ms: phaseStartMs)
    writer.text(",\"spokenText\":", SpokenText.room(state.phase))
    writer.url(state.url)
    writer.endObject(object)
    return writer.json()
  }
}

/// A room is either connected or waiting, also in a phase that this version does not know.
extension RoomPhase {
  /// The name in the content-state.
  var contentName: String { self == .connected ? "connected" : "waiting" }
  var title: String { self == .connected ? "Peer connected" : "Waiting for peer" }
  var colorHex: String { self == .connected ? "#34C759" : "#F7C948" }
}
