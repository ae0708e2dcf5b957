#if canImport(SwiftUI)
  import CampanileActivities
  import Foundation
  import SwiftUI

  #if canImport(ActivityKit) && !os(macOS)
    import ActivityKit
  #endif

  /// A chat room: yellow while it waits for a peer, green while one is connected.
  @main struct RoomApp: App {
    @State private var session = RoomSession(roomID: String(repeating: "4f", count: 24))

    var body: some Scene {
      WindowGroup {
        NavigationStack { RoomView(session: session) }
          .task { try? await session.outbox.run(through: session.campanile.caller) }
      }
    }
  }

  @MainActor final class RoomSession {
    let campanile = Campanile(URL(string: "https://api.example")!, credentials: FixedCredential(key: "cmp_…"))
    let outbox = Outbox(path: FileManager.default.temporaryDirectory.appendingPathComponent("outbox").path)
    let registrar: LiveActivityRegistrar
    let room: RoomModel

    init(roomID: String) {
      let configuration = RegistrarConfiguration(app: "com.example.rooms")
      registrar = LiveActivityRegistrar(configuration, outbox: outbox)
      room = RoomModel(campanile, outbox: outbox, registrar: configuration, roomID: roomID)
    }

    /// Shows the activity at once, and lets Activities update it from then on.
    func join() throws {
      #if canImport(ActivityKit) && !os(macOS)
        let state = RoomContentState(phase: .waiting, roomId: room.roomID, lastUpdated: Date())
        let activity = try LiveActivity.request(
          attributes: RoomActivityAttributes(roomId: room.roomID), content: .init(state: state, staleDate: nil),
          pushType: .token)
        room.join(activityID: activity.id, waitingLimit: 30 * 60)
        registrar.follow(RoomActivityAttributes.self)
      #else
        room.join(activityID: UUID().uuidString, waitingLimit: 30 * 60)
      #endif
    }
  }

  struct RoomView: View {
    let session: RoomSession

    var body: some View {
      VStack(spacing: 16) {
        if let state = session.room.state {
          HStack {
            Circle().fill(Color(hex: state.colorHex) ?? .secondary)
            Text(state.title).font(.headline)
          }
          Text(state.shortRoomID).font(.caption)
          Button("Peer connected") { session.room.peer(isConnected: true) }
          Button("Peer disconnected") { session.room.peer(isConnected: false) }
          Button("Leave", role: .destructive) { session.room.leave() }
        } else {
          Button("Join") { try? session.join() }
        }
      }
      .navigationTitle("Room")
      .task { await session.room.run() }
    }
  }
#endif
