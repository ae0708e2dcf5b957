import CampanileActivities
import Foundation

extension Example {
  /// Joins a room, reports a peer, and leaves.
  func room() async throws {
    let roomID = (0..<48).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
    let configuration = RegistrarConfiguration(app: "com.example.rooms", environment: .development)
    let room = RoomModel(campanile, outbox: outbox, registrar: configuration, roomID: roomID)
    room.join(activityID: "example-\(UUID().uuidString)")
    print("\(room.state?.title ?? "no room"): \(room.state?.colorHex ?? "")")
    room.peer(isConnected: true)
    print("\(room.state?.title ?? "no room"): \(room.state?.colorHex ?? "")")
    try await send()
    let activities = try await campanile.activities.service.listActivities(.init(pageSize: 100)).activities
    let shown = try activities.first { $0.id == room.activityID }.map {
      try RoomContentState(activityJSON: $0.contentStateJson)
    }
    print("the server shows: \(shown?.title ?? "nothing")")
    room.leave()
    try await send()
    print(room.state == nil ? "left" : "still there")
  }
}
