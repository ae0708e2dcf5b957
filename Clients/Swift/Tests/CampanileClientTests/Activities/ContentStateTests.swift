import CampanileNotifications
import Foundation
import Testing

@testable import CampanileActivities

/// The arithmetic of timers, and states from older and newer servers.
struct ContentStateTests {
  private let start = Date(timeIntervalSince1970: 1_700_000_000)

  private func after(_ seconds: TimeInterval) -> Date { start.addingTimeInterval(seconds) }

  private func timer(_ duration: TimeInterval = 600) -> TimerContentState {
    TimerContentState(startedAt: start, duration: duration, methodName: "Focus", sessionType: .countdown)
  }

  @Test func runningTimerCountsDown() {
    let timer = timer()
    #expect(timer.elapsed(at: after(60)) == 60 && timer.remaining(at: after(60)) == 540)
    #expect(timer.progress(at: after(60)) == 0.1 && timer.endDate == after(600))
    #expect(timer.elapsed(at: after(900)) == 600 && timer.remaining(at: after(900)) == 0)
    #expect(timer.progress(at: after(900)) == 1)
    // A device's clock that is behind the server's.
    #expect(timer.elapsed(at: after(-5)) == 0 && timer.remaining(at: after(-5)) == 600)
    #expect(timer.interval == start...after(600))
  }

  @Test func pauseIsNotCounted() {
    let paused = timer().paused(at: after(100))
    #expect(paused.isPaused && paused.endDate == nil)
    #expect(paused.elapsed(at: after(500)) == 100 && paused.remaining(at: after(500)) == 500)
    #expect(paused.paused(at: after(300)) == paused)
    let resumed = paused.resumed(at: after(150))
    #expect(!resumed.isPaused && resumed.totalPausedDuration == 50 && resumed.endDate == after(650))
    #expect(resumed.elapsed(at: after(200)) == 150)
    #expect(resumed.resumed(at: after(300)) == resumed)
    let again = resumed.paused(at: after(200)).resumed(at: after(230))
    #expect(again.totalPausedDuration == 80 && again.elapsed(at: after(330)) == 250)
    #expect(again.interval == after(80)...after(680))
  }

  @Test func clockThatWasSetBackDoesNotExtendATimer() {
    #expect(timer().paused(at: after(-50)).pausedAt == start)
    let paused = timer().paused(at: after(100))
    #expect(paused.resumed(at: after(50)).totalPausedDuration == 0)
  }

  @Test func openTimerHasNoEnd() {
    let open = timer(0)
    #expect(
      open.isOpen && open.endDate == nil && open.remaining(at: after(5)) == nil && open.progress(at: after(5)) == nil)
    #expect(open.elapsed(at: after(5)) == 5 && open.interval.upperBound == .distantFuture)
  }

  @Test func stateOfTheSeedIsDecoded() throws {
    // The example of the app's own documentation: ISO 8601 without fractions, without totalPausedDuration.
    let state = try TimerContentState(
      activityJSON: """
        {"startedAt":"2024-01-01T12:00:00Z","pausedAt":"2024-01-01T12:05:00Z","duration":1800,"methodName":"Workout",
         "sessionType":"countup","isPaused":true}
        """)
    #expect(state.sessionType == .countup && state.totalPausedDuration == 0)
    #expect(state.elapsed(at: .distantFuture) == 300)
    #expect(throws: (any Error).self) { try TimerContentState(activityJSON: #"{"startedAt":"yesterday"}"#) }
    #expect(throws: (any Error).self) { try TimerContentState(activityJSON: #"{"duration":1}"#) }
  }

  @Test func newerServerIsUnderstood() throws {
    let timer = try TimerContentState(
      activityJSON: #"{"startedAt":800000000,"pausedAt":null,"sessionType":"breathing","new":[1]}"#)
    #expect(timer.sessionType.rawValue == "breathing" && timer.isOpen && timer.pausedAt == nil)
    let room = try RoomContentState(activityJSON: #"{"phase":"ringing","roomId":"ab","lastUpdated":1700000000}"#)
    #expect(room.phase == .waiting && room.title == "Waiting for peer" && room.colorHex == "#F7C948")
    #expect(room.lastUpdated == start)
    let unread = try UnreadContentState(activityJSON: #"{"lastUpdate":"2023-11-14T22:13:20Z"}"#)
    #expect(unread.notifications.isEmpty && unread.lastUpdate == start)
  }

  @Test func statesAreEncodedAsActivityKitDecodesThem() throws {
    let timer = timer().paused(at: after(1.5))
    #expect(try JSONDecoder().decode(TimerContentState.self, from: Data(timer.activityJSON().utf8)) == timer)
    #expect(try timer.activityJSON().contains(#""startedAt":721692800"#))
    let room = RoomContentState(phase: .connected, roomId: "ab", lastUpdated: start)
    #expect(try RoomContentState(activityJSON: room.activityJSON()) == room)
    #expect(try UnreadActivityAttributes(id: "a/1").activityJSON() == #"{"id":"a/1"}"#)
  }

  @Test func roomsAndColours() {
    #expect(RoomStage.connected.title == "Peer connected" && RoomStage.connected.colorHex == "#34C759")
    #expect(HexColor("#F7C948").map { Int($0.red * 255 + 0.5) } == 247)
    for text in ["", "#12345", "#GGGGGG", "123456", "#+12345", "#1234567"] { #expect(HexColor(text) == nil) }
  }

  @Test func pushedNotificationIsRead() {
    let pushed = PushedNotification(userInfo: [
      "aps": ["alert": ["title": "Build", "subtitle": "main", "body": "passed"], "badge": 3] as [String: Any],
      "notificationId": "n_1",
      "data": ["bucketId": "b_1", "bucketName": "Builds", "mediaUrl": "https://example.org/i.png"],
    ])
    #expect(pushed.id == "n_1" && pushed.title == "Build" && pushed.subtitle == "main" && pushed.body == "passed")
    #expect(pushed.bucketID == "b_1" && pushed.badge == 3 && pushed.mediaURL?.lastPathComponent == "i.png")
    #expect(PushedNotification(userInfo: ["aps": ["alert": "Text"]]).title == "Text")
    #expect(PushedNotification(userInfo: [:]).id.isEmpty)
  }

  @Test func longLookHasRoundActionsWithSymbols() {
    let buttons = ["mark_as_read", "delete", "open", "0"].map { LongLookButton(LongLookAction(actionId: $0)) }
    #expect(
      buttons.map(\.symbolName) == [
        "checkmark.circle.fill", "trash.circle.fill", "arrow.right.circle.fill", "chevron.right",
      ])
    #expect(Set(buttons.prefix(3).map(\.colorHex)).count == 3)
  }

  @Test func environmentFollowsTheBuild() {
    #expect(PushEnvironment.of(isDebug: true, receiptName: "sandboxReceipt") == .development)
    #expect(PushEnvironment.of(isDebug: false, receiptName: "sandboxReceipt") == .sandbox)
    #expect(PushEnvironment.of(isDebug: false, receiptName: "receipt") == .production)
    #expect(PushEnvironment.of(isDebug: false, receiptName: nil) == .production)
  }
}
