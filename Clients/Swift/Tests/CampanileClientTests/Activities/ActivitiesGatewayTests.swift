import CampanileNotifications
import Foundation
import Testing

@testable import CampanileActivities
@testable import CampanileClient

/// The models of activities with a real gateway.
@MainActor @Suite(.enabled(if: Gateway.isThere), .timeLimit(.minutes(2))) struct ActivitiesGatewayTests {
  private let campanile: Campanile
  private let folder: TestFolder
  private let outbox: Outbox
  private let configuration = RegistrarConfiguration(
    app: "com.example.growth", environment: .development, installationID: "swift")

  init() throws {
    campanile = try Gateway.campanile()
    folder = try TestFolder()
    outbox = Outbox(path: folder.path("outbox"))
  }

  private func sending(_ body: () async throws -> Void) async throws {
    let sender = Task { try await outbox.run(through: campanile.caller) }
    defer { sender.cancel() }
    try await body()
  }

  @Test func timerThatTheAppStartedIsPausedOfflineAndEnded() async throws {
    let id = "swift-\(UUID().uuidString)"
    let state = TimerContentState(startedAt: Date(), duration: 900, methodName: "Focus", sessionType: .countdown)
    let registrar = LiveActivityRegistrar(configuration, outbox: outbox)
    try registrar.startedTimer(id, state: state, type: .countdown, completesByItself: false)
    registrar.updateToken(Data((0..<32).map { _ in UInt8.random(in: 0...255) }), activityID: id)
    let timer = TimerModel(campanile, outbox: outbox, activityID: id, state: state)
    timer.pause()
    #expect(timer.state?.isPaused == true && timer.isWaiting)
    let running = Task { await timer.run() }
    defer { running.cancel() }
    try await sending {
      try await eventually("the server knows the pause") { !timer.isWaiting && timer.state?.isPaused == true }
      let activity = try await campanile.activities.service.getActivity(.init(activityId: id)).activity
      #expect(activity?.updateTokenCount == 1)
      guard case .timer(let stored)? = activity?.driver else {
        Issue.record("no timer")
        return
      }
      #expect(stored.pauseTime != nil)
      // The model reads the state again after the server has taken the pause.
      try await eventually("the state is the server's") { timer.state == TimerContentState(stored) }
      timer.resume()
      try await eventually("the server knows the resume") { !timer.isWaiting && timer.state?.isPaused == false }
      #expect((timer.state?.totalPausedDuration ?? 0) > 0)
      timer.complete()
      await running.value
    }
    #expect(timer.isEnded)
    #expect(timer.error == nil, "\(String(describing: timer.error))")
    #expect(try outbox.refusals().isEmpty)
  }

  @Test func roomIsFollowed() async throws {
    let roomID = (0..<48).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
    let room = RoomModel(campanile, outbox: outbox, registrar: configuration, roomID: roomID)
    let running = Task { await room.run() }
    defer { running.cancel() }
    try await eventually("the watch") { !room.isStale }
    room.join(activityID: "swift-\(UUID().uuidString)", waitingLimit: 3_600)
    room.peer(isConnected: true)
    #expect(room.state?.phase == .connected && room.state?.colorHex == "#34C759")
    try await sending {
      try await eventually("the outbox") { try outbox.entries().isEmpty }
      let list = try await campanile.activities.service.listActivities(.init(pageSize: 50)).activities
      let activity = list.first { $0.id == room.activityID }
      #expect(try RoomContentState(activityJSON: activity?.contentStateJson ?? "{}").phase == .connected)
      let relaunched = RoomModel(campanile, outbox: outbox, registrar: configuration, roomID: roomID)
      let runningAgain = Task { await relaunched.run() }
      defer { runningAgain.cancel() }
      try await eventually("the room after a relaunch") { relaunched.state?.phase == .connected }
      #expect(relaunched.activityID == room.activityID)
      // Another device leaves the room.
      _ = try await campanile.activities.rooms.leaveRoom(.init(app: configuration.app, roomId: roomID))
      try await eventually("the end") { room.state == nil }
    }
    #expect(try outbox.refusals().isEmpty)
  }

  @Test func unreadListFollowsAndQueuesChanges() async throws {
    let service = campanile.notifications.service
    let bucket = try #require(
      try await service.createBucket(.init(bucket: .init(name: "Unread \(UUID().uuidString.prefix(8))"))).bucket)
    let unread = UnreadModel(campanile, outbox: outbox)
    let running = Task { await unread.run() }
    defer { running.cancel() }
    try await eventually("the list") { !unread.isStale }
    var ids: [String] = []
    for title in ["first", "second", "third"] {
      let request = CreateNotificationRequest(notification: .init(bucketId: bucket.id, title: title))
      ids.append(try #require(try await service.createNotification(request).notification?.id))
    }
    func titles() -> [String] { unread.notifications.filter { $0.bucketId == bucket.id }.map(\.title) }
    try await eventually("the new ones") { titles() == ["third", "second", "first"] }
    unread.markRead(ids[0])
    unread.delete(ids[1])
    #expect(titles() == ["third"])
    try await sending {
      try await eventually("the server") {
        let list = try await service.listNotifications(.init(pageSize: 10, bucketId: bucket.id)).notifications
        return list.map(\.title) == ["third", "first"] && list[1].readTime != nil
      }
    }
    #expect(titles() == ["third"] && unread.error == nil && unread.buckets[bucket.id]?.name == bucket.name)
  }

  @Test func longLookIsLoadedAndItsActionRunsOnce() async throws {
    let service = campanile.notifications.service
    let bucketID = try #require(
      try await service.createBucket(.init(bucket: .init(name: "Look \(UUID().uuidString.prefix(8))"))).bucket?.id)
    let created = try #require(
      try await service.createNotification(
        .init(
          notification: .init(
            bucketId: bucketID, title: "Build", subtitle: "main", body: "passed",
            attachments: [.init(mediaType: .image, url: "https://example.org/i.png")],
            actions: [.init(type: .postpone, value: "30", title: "Later")]))
      ).notification)
    let look = LongLookModel(campanile, outbox: outbox)
    look.show(PushedNotification(userInfo: ["aps": ["alert": ["title": "Pushed"]], "notificationId": created.id]))
    #expect(look.title == "Pushed")
    await look.load(created.id)
    #expect(look.error == nil && look.title == "Build" && look.subtitle == "main" && look.body == "passed")
    #expect(look.imageURL?.lastPathComponent == "i.png")
    #expect(look.baseActions.map(\.id) == ["mark_as_read", "delete", "open"])
    #expect(look.actions.map(\.label) == ["Later"])
    look.perform("mark_as_read")
    #expect(try await outbox.sendNow(through: campanile.caller) == 0)
    #expect(try outbox.refusals().isEmpty)
    let read = try await service.getNotification(.init(notificationId: created.id)).notification
    #expect(read?.readTime != nil)
  }
}
