import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Testing

@testable import Activities

/// Timer, room and unread summary, as transcripts of events and their results.
@Suite struct DriverTests {
  private static let startMs: Int64 = 1_770_000_000_000

  private static func timer(durationMs: Int64? = 1_800_000, type: TimerSessionType = .countdown) -> TimerMachine {
    let state = TimerState(
      startTime: ProtoTimestamp(millisecondsSince1970: startMs),
      duration: durationMs.map { ProtoDuration(milliseconds: $0) }, methodName: "Workout \"A\"", sessionType: type)
    return TimerMachine(state)
  }

  @Test func timerCountsEachPauseOnce() throws {
    var timer = Self.timer()
    #expect(try timer.handle(.pause, atMs: Self.startMs + 60_000) == .update)
    #expect(timer.elapsedMs(atMs: Self.startMs + 100_000) == 60_000)
    #expect(timer.endMs == nil)
    #expect(try timer.handle(.resume, atMs: Self.startMs + 90_000) == .update)
    #expect(timer.state.totalPaused?.milliseconds == 30_000)
    #expect(timer.state.startTime?.millisecondsSince1970 == Self.startMs)
    #expect(timer.endMs == Self.startMs + 1_830_000)
    #expect(try timer.handle(.pause, atMs: Self.startMs + 200_000) == .update)
    #expect(try timer.handle(.resume, atMs: Self.startMs + 205_000) == .update)
    #expect(timer.state.totalPaused?.milliseconds == 35_000)
    #expect(timer.elapsedMs(atMs: Self.startMs + 335_000) == 300_000)
  }

  @Test func timerRejectsTheStateItIsIn() throws {
    var timer = Self.timer()
    #expect(throws: RPCError.refused("activityId", "the timer is already running", .timerRunning)) {
      try timer.handle(.resume, atMs: Self.startMs + 1)
    }
    _ = try timer.handle(.pause, atMs: Self.startMs + 2)
    #expect(throws: RPCError.refused("activityId", "the timer is already paused", .timerPaused)) {
      try timer.handle(.pause, atMs: Self.startMs + 3)
    }
    #expect(timer.state.pauseTime?.millisecondsSince1970 == Self.startMs + 2)
  }

  @Test func timerEndsByStopOrCompletion() throws {
    var stopped = Self.timer()
    _ = try stopped.handle(.pause, atMs: Self.startMs + 1_000)
    #expect(try stopped.handle(.stop, atMs: Self.startMs + 5_000) == .end(.requested, .immediate))
    #expect(stopped.state.totalPaused?.milliseconds == 4_000 && stopped.state.pauseTime == nil)
    var done = Self.timer()
    let atMs = Self.startMs + 1_800_000
    #expect(try done.handle(.timeOver, atMs: atMs - 1) == .keep)
    #expect(try done.handle(.timeOver, atMs: atMs) == .end(.completed, .at(atMs + 300_000)))
    #expect(done.state.sessionType == .countdown && done.content(.unix).contains(#""sessionType":"completed""#))
    var open = Self.timer(durationMs: nil, type: .countup)
    #expect(try open.handle(.timeOver, atMs: .max) == .keep)
    #expect(try open.handle(.complete, atMs: atMs) == .end(.completed, .at(atMs + 300_000)))
  }

  @Test func clockSetBackAddsNoPause() throws {
    var timer = Self.timer()
    _ = try timer.handle(.pause, atMs: Self.startMs - 10_000)
    #expect(timer.elapsedMs(atMs: Self.startMs) == 0)
    _ = try timer.handle(.resume, atMs: Self.startMs - 20_000)
    #expect(timer.state.totalPaused?.milliseconds == 0)
  }

  @Test func timerContentMatchesTheWidget() throws {
    var timer = Self.timer()
    #expect(
      timer.content(.foundation)
        == #"{"startedAt":791692800,"isPaused":false,"duration":1800,"methodName":"Workout \"A\"","protocolName":"Workout \"A\"","sessionType":"countdown","totalPausedDuration":0,"spokenText":"Workout \"A\", countdown of 30 minutes, running"}"#
    )
    _ = try timer.handle(.pause, atMs: Self.startMs + 1_050)
    #expect(timer.content(.foundation).contains(#""pausedAt":791692801.05,"isPaused":true,"#))
    #expect(timer.content(.unix).contains(#""pausedAt":1770000001.05,"#))
    #expect(timer.content(.iso8601).contains(#""pausedAt":"2026-02-02T02:40:01.050Z","#))
    _ = try timer.handle(.resume, atMs: Self.startMs + 3_056)
    #expect(timer.content(.foundation).contains(#""totalPausedDuration":2.006,"#))
  }

  @Test func roomTurnsGreenAndYellow() {
    let id = String(repeating: "a", count: 48)
    var room = RoomMachine(roomID: id, waitingLimit: .init(seconds: 1_800), atMs: Self.startMs)
    #expect(
      room.content(.foundation)
        == ##"{"phase":"waiting","roomId":"\##(id)","title":"Waiting for peer","colorHex":"#F7C948","lastUpdated":791692800,"spokenText":"Waiting for a peer in the room"}"##
    )
    #expect(room.waitingEndMs == Self.startMs + 1_800_000)
    #expect(room.handle(.peerDisconnected, atMs: Self.startMs + 1) == .keep)
    #expect(room.handle(.peerConnected, atMs: Self.startMs + 2_000) == .update)
    #expect(room.handle(.peerConnected, atMs: Self.startMs + 3_000) == .keep)
    #expect(
      room.content(.foundation)
        == ##"{"phase":"connected","roomId":"\##(id)","title":"Peer connected","colorHex":"#34C759","lastUpdated":791692802,"spokenText":"A peer is connected to the room"}"##
    )
    #expect(room.waitingEndMs == nil)
    #expect(room.handle(.waitingOver, atMs: .max) == .keep)
    #expect(room.handle(.peerDisconnected, atMs: Self.startMs + 4_000) == .update)
    #expect(room.handle(.waitingOver, atMs: Self.startMs + 1_803_999) == .keep)
    #expect(room.handle(.waitingOver, atMs: Self.startMs + 1_804_000) == .end(.waitedTooLong, .immediate))
    #expect(room.handle(.leave, atMs: Self.startMs + 5_000) == .end(.requested, .immediate))
  }

  private static func item(_ id: String, title: String) -> UnreadItem {
    UnreadItem(id: id, title: title, bucketId: "b", createTime: ProtoTimestamp(millisecondsSince1970: startMs))
  }

  @Test func unreadSummaryShowsTheNewestItems() throws {
    var summary = UnreadSummary(notifications: (1...5).map { Self.item("n\($0)", title: "t\($0)") })
    summary.notifications[0].subtitle = "s"
    summary.unreadCount = 7
    summary.updateTime = ProtoTimestamp(millisecondsSince1970: Self.startMs)
    #expect(
      UnreadRenderer(.init(itemsMax: 2), dates: .foundation).content(summary)
        == #"{"notifications":[{"id":"n1","title":"t1","subtitle":"s","bucketId":"b","createdAt":791692800},{"id":"n2","title":"t2","bucketId":"b","createdAt":791692800}],"unreadCount":7,"lastUpdate":791692800,"spokenText":"7 unread notifications. Newest: t1"}"#
    )
    #expect(
      UnreadRenderer(.init(itemsMax: 3), dates: .foundation).content(UnreadSummary())
        == #"{"notifications":[],"unreadCount":0,"lastUpdate":-978307200,"spokenText":"No unread notifications"}"#)
  }

  @Test(arguments: [100, 1_000, 3_400, 3_600, 20_000])
  func unreadSummaryFitsThePayload(_ length: Int) throws {
    let summary = UnreadSummary(
      notifications: (1...5).map { Self.item("n\($0)", title: String(repeating: "ü\"", count: length)) }, unreadCount: 5
    )
    let content = UnreadRenderer(.init(itemsMax: 5), dates: .foundation).content(summary)
    #expect(content.utf8.count <= UnreadRenderer.sizeBytesMax)
    #expect(content.contains(#""unreadCount":5"#))
    _ = try object(content)
  }

  @Test func timestampsAscendWhateverTheClockDoes() {
    var last: Int64 = 0
    for nowMs in [5_000, 5_100, 5_200, 900_000, 100, 0, -50_000, 901_000] as [Int64] {
      let next = PushClock.next(after: last, nowMs: nowMs)
      #expect(next > last)
      last = next
    }
    #expect(PushClock.next(after: 3, nowMs: 9_999) == 9)
  }
}
