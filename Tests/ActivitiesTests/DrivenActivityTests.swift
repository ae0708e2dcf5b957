import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

@Suite struct DrivenActivityTests {
  private static let room = String(repeating: "0a", count: 24)

  private static func timerRequest(_ id: String) -> StartTimerRequest {
    StartTimerRequest(
      activityId: id, app: app, environment: "development", origin: .local, methodName: "Run", sessionType: .countdown,
      duration: .init(seconds: 600))
  }

  private static func join(_ id: String = "") -> JoinRoomRequest {
    JoinRoomRequest(app: app, environment: "development", roomId: room, activityId: id, origin: .local)
  }

  @Test func timerIsPausedResumedAndStopped() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open(dates: ["com.example.iso": .iso8601])
    _ = try await component.timers.startTimer(Self.timerRequest("t"), context: anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "t"), anna)
    fixture.clock.advance(by: .seconds(60))
    let pause = PauseTimerRequest(activityId: "t")
    let paused = try await component.timers.pauseTimer(pause, context: anna).activity
    #expect(paused?.contentStateJson.contains(#""pausedAt":791692860"#) == true)
    let again = await failure { try await component.timers.pauseTimer(pause, context: anna) }
    #expect(again?.code == .failedPrecondition && again?.reason == "TIMER_PAUSED")
    fixture.clock.advance(by: .seconds(30))
    let resumed = try await component.timers.resumeTimer(.init(activityId: "t"), context: anna).activity
    #expect(resumed?.contentStateJson.contains(#""totalPausedDuration":30,"#) == true)
    let own = await failure { try await component.update("t", "{}", anna) }
    #expect(own?.reason == "ACTIVITY_DRIVEN")
    let stopped = try await component.timers.stopTimer(.init(activityId: "t"), context: anna).activity
    #expect(stopped?.status == .ended)
    let end = try #require(try component.queued().last)
    #expect(end.kind == .end && end.payload.contains(#""dismissal-date":1770000089,"#))
    await component.close()
  }

  @Test func endOfATimerCanBeRepeated() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let timers = component.timers
    for id in ["s", "c", "plain"] {
      if id == "plain" {
        _ = try await component.start(local(id), anna)
      } else {
        _ = try await timers.startTimer(Self.timerRequest(id), context: anna)
      }
    }
    fixture.clock.advance(by: .seconds(60))
    func stop(_ id: String, _ context: CallContext = anna) async throws -> Activity? {
      try await timers.stopTimer(.init(activityId: id), context: context).activity
    }
    func complete(_ id: String) async throws -> Activity? {
      try await timers.completeTimer(.init(activityId: id), context: anna).activity
    }
    // The answer may be lost, and a client that repeats the call gets it then.
    let (stopped, completed) = (try await stop("s"), try await complete("c"))
    fixture.clock.advance(by: .seconds(1))
    #expect(try await stop("s") == stopped && stopped?.endReason == .requested)
    #expect(try await complete("c") == completed && completed?.endReason == .completed)
    // Another end than the one that it had is refused as before.
    #expect(await failure { try await complete("s") }?.reason == "ACTIVITY_ENDED")
    #expect(await failure { try await stop("c") }?.reason == "ACTIVITY_ENDED")
    #expect(await failure { try await stop("s", bruno) }?.reason == "ACTIVITY_NOT_FOUND")
    _ = try await component.end("plain", anna)
    #expect(await failure { try await stop("plain") }?.reason == "ACTIVITY_ENDED")
    await component.close()
  }

  @Test func timerCompletesAutomatically() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    var request = Self.timerRequest("t")
    request.completesByItself = true
    _ = try await component.timers.startTimer(request, context: anna)
    fixture.clock.advance(by: .seconds(100))
    _ = try await component.timers.pauseTimer(.init(activityId: "t"), context: anna)
    fixture.clock.advance(by: .seconds(3600))
    try await component.runDueTimers()
    #expect(try await component.get("t", anna).status == .active)
    _ = try await component.timers.resumeTimer(.init(activityId: "t"), context: anna)
    fixture.clock.advance(by: .milliseconds(499_999))
    try await component.runDueTimers()
    #expect(try await component.get("t", anna).status == .active)
    fixture.clock.advance(by: .milliseconds(1))
    try await component.runDueTimers()
    let done = try await component.get("t", anna)
    #expect(done.endReason == .completed && done.contentStateJson.contains(#""sessionType":"completed""#) == true)
    await component.close()
  }

  @Test func timersAreValidated() async throws {
    let component = try await Fixture().open()
    var request = Self.timerRequest("t")
    (request.sessionType, request.duration) = (.unrecognized(9), .init(milliseconds: 10))
    let error = await failure { try await component.timers.startTimer(request, context: anna) }
    #expect(error?.fieldViolations.map(\.field) == ["sessionType", "duration"])
    _ = try await component.start(local("plain"), anna)
    let plain = await failure { try await component.timers.pauseTimer(.init(activityId: "plain"), context: anna) }
    #expect(plain?.reason == "ACTIVITY_NO_TIMER")
    await component.close()
  }

  @Test func roomHasOneActivity() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    _ = try await component.rooms.joinRoom(Self.join("one"), context: anna)
    let second = try await component.rooms.joinRoom(Self.join("two"), context: anna).activity
    #expect(try await component.get("one", anna).endReason == .replaced)
    #expect(second?.room?.phase == .waiting)
    var peer = ReportPeerRequest(app: app, roomId: Self.room, connected: true)
    let connected = try await component.rooms.reportPeer(peer, context: anna).activity
    #expect(connected?.contentStateJson.contains("#34C759") == true)
    let version = connected?.etag
    #expect(try await component.rooms.reportPeer(peer, context: anna).activity?.etag == version)
    peer.connected = false
    let waiting = try await component.rooms.reportPeer(peer, context: anna).activity
    #expect(waiting?.contentStateJson.contains("#F7C948") == true)
    // Another user's room is not affected, and without an activity nothing happens.
    #expect(try await component.rooms.reportPeer(peer, context: bruno).activity == nil)
    let leave = LeaveRoomRequest(app: app, roomId: Self.room)
    #expect(try await component.rooms.leaveRoom(leave, context: anna).activity?.status == .ended)
    #expect(try await component.rooms.leaveRoom(leave, context: anna).activity == nil)
    await component.close()
  }

  @Test func disconnectingEndsAllRooms() async throws {
    let component = try await Fixture().open()
    for digit in ["a", "b", "c"] {
      var join = Self.join(digit)
      join.roomId = String(repeating: digit, count: 48)
      _ = try await component.rooms.joinRoom(join, context: anna)
    }
    _ = try await component.start(local("other"), anna)
    #expect(try await component.rooms.disconnectRooms(.init(app: app), context: anna).endedCount == 3)
    #expect(try await component.get("other", anna).status == .active)
    var join = Self.join()
    join.roomId = "ABC"
    let bad = await failure { try await component.rooms.joinRoom(join, context: anna) }
    #expect(bad?.reason == "ROOM_ID_INVALID")
    await component.close()
  }

  @Test func roomEndsAfterItsMaximumWaitingTime() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    var join = Self.join("w")
    join.waitingLimit = .init(seconds: 30 * 60)
    _ = try await component.rooms.joinRoom(join, context: anna)
    var peer = ReportPeerRequest(app: app, roomId: Self.room, connected: true)
    fixture.clock.advance(by: .milliseconds(29 * 60_000))
    _ = try await component.rooms.reportPeer(peer, context: anna)
    fixture.clock.advance(by: .milliseconds(60 * 60_000))
    try await component.runDueTimers()
    #expect(try await component.get("w", anna).status == .active)
    peer.connected = false
    _ = try await component.rooms.reportPeer(peer, context: anna)
    fixture.clock.advance(by: .milliseconds(30 * 60_000))
    try await component.runDueTimers()
    #expect(try await component.get("w", anna).endReason == .waitedTooLong)
    await component.close()
  }

  private static func summary(_ count: Int32, _ titles: [String]) -> UnreadSummary {
    UnreadSummary(
      notifications: titles.map { title in
        var item = UnreadItem()
        (item.id, item.title, item.bucketId) = ("n-\(title)", title, "b")
        return item
      }, unreadCount: count)
  }

  private static func put(_ component: ActivitiesComponent, _ summary: UnreadSummary, _ sequence: Int64) async throws
    -> PutUnreadSummaryResponse
  {
    let request = PutUnreadSummaryRequest(userId: "anna", summary: summary, sequence: sequence)
    return try await component.unread.putUnreadSummary(request, context: program)
  }

  @Test func unreadSummaryIsShown() async throws {
    let component = try await Fixture().open()
    #expect(try await Self.put(component, Self.summary(1, ["first"]), 10).accepted)
    let start = StartUnreadActivityRequest(
      activityId: "u", app: app, environment: "development", origin: .local, itemsMax: 2)
    let started = try await component.unread.startUnreadActivity(start, context: anna).activity
    #expect(started?.contentStateJson.contains("n-first") == true && started?.unread?.sequence == 10)
    try await component.register(token(.activityUpdate, hex(1), activity: "u"), anna)
    let put = try await Self.put(component, Self.summary(3, ["third", "second", "first"]), 12)
    #expect(put.accepted && put.activityCount == 1)
    let shown = try await component.get("u", anna).contentStateJson
    #expect(shown.contains("n-third") && shown.contains("n-second") && !shown.contains("n-first"))
    #expect(shown.contains(#""unreadCount":3"#))
    // Neither an older nor a repeated summary replaces it.
    let refused = try await Self.put(component, Self.summary(0, []), 11)
    #expect(!refused.accepted && refused.knownSequence == 12)
    #expect(try await !Self.put(component, Self.summary(0, []), 12).accepted)
    #expect(try await component.get("u", anna).contentStateJson == shown)
    #expect(try component.queued().count == 1)
    await component.close()
  }

  @Test func localUnreadActivityReceivesTheNewestSummary() async throws {
    let component = try await Fixture().open()
    func start(_ id: String, _ number: Int) async throws {
      let start = StartUnreadActivityRequest(activityId: id, app: app, environment: "development", origin: .local)
      _ = try await component.unread.startUnreadActivity(start, context: anna)
      try await component.register(token(.activityUpdate, hex(number), activity: id), anna)
    }
    // There is no summary yet that the app could lack.
    try await start("early", 1)
    #expect(try component.queued().isEmpty)
    _ = try await Self.put(component, Self.summary(1, ["first"]), 10)
    #expect(try component.queued().count == 1)
    try await start("late", 2)
    #expect(try component.queued().count == 2)
    #expect(try component.queued().last?.payload.contains(#""unreadCount":1"#) == true)
    await component.close()
  }

  @Test func alertsAreSentToEachDeviceOnce() async throws {
    let component = try await Fixture().open()
    let phone = try await component.register(token(.device, hex(1)), anna)
    var other = token(.device, hex(2))
    other.app = "com.example.other"
    try await component.register(other, anna)
    try await component.register(token(.device, hex(3)), bruno)
    var request = SendAlertRequest(userId: "anna", alertId: "n1:1", notificationId: "n1", app: app, alert: alert())
    request.alert?.sound = Sound(name: "default")
    request.badge = 4
    request.dataJson = try object(#"{"bucketId": "b"}"#)
    let sent = try await component.unread.sendAlert(request, context: program)
    #expect(sent.apnsIds.count == 1 && !sent.repeatedAlert)
    let push = try #require(try component.queued().first)
    #expect(push.target == phone.id && push.pushType == "alert" && push.priority == 10)
    #expect(
      push.payload
        == #"{"aps":{"alert":{"title":"Title","body":"Body"},"sound":"default","badge":4},"notificationId":"n1","data":{"bucketId": "b"}}"#
    )
    let again = try await component.unread.sendAlert(request, context: program)
    #expect(again.repeatedAlert && again.apnsIds.isEmpty)
    request.alertId = "n1:2"
    request.app = ""
    request.alert = nil
    request.badge = nil
    #expect(try await component.unread.sendAlert(request, context: program).apnsIds.count == 2)
    let silent = try #require(try component.queued().last)
    #expect(silent.pushType == "background" && silent.priority == 5)
    #expect(silent.payload.hasPrefix(#"{"aps":{"content-available":1},"#))
    request.userId = "nobody"
    #expect(try await component.unread.sendAlert(request, context: program).apnsIds.isEmpty)
    request.alertId = "big"
    request.dataJson = try object(#"{"s":"\#(String(repeating: "x", count: 5_000))"}"#)
    let large = await failure { try await component.unread.sendAlert(request, context: program) }
    #expect(large?.reason == "PAYLOAD_TOO_LARGE" && large?.fieldViolations.map(\.field) == ["dataJson"])
    await component.close()
  }

  @Test("a repeated pause or leave changes nothing that came after it")
  func repeatedEventsOfDriversAreAnsweredFromTheStore() async throws {
    let component = try await Fixture().open()
    _ = try await component.timers.startTimer(Self.timerRequest("t"), context: anna)
    let pause = PauseTimerRequest(activityId: "t", requestId: "p")
    let paused = try await component.timers.pauseTimer(pause, context: anna)
    let resume = ResumeTimerRequest(activityId: "t", requestId: "p")
    let resumed = try await component.timers.resumeTimer(resume, context: anna)
    #expect(try await component.timers.pauseTimer(pause, context: anna) == paused)
    #expect(try await component.timers.resumeTimer(resume, context: anna) == resumed)
    #expect(try await component.get("t", anna) == resumed.activity)
    _ = try await component.rooms.joinRoom(Self.join("one"), context: anna)
    let leave = LeaveRoomRequest(app: app, roomId: Self.room, requestId: "l")
    let left = try await component.rooms.leaveRoom(leave, context: anna)
    let disconnect = DisconnectRoomsRequest(app: app, requestId: "d")
    #expect(try await component.rooms.disconnectRooms(disconnect, context: anna).endedCount == 0)
    _ = try await component.rooms.joinRoom(Self.join("two"), context: anna)
    #expect(try await component.rooms.leaveRoom(leave, context: anna) == left)
    #expect(try await component.rooms.disconnectRooms(disconnect, context: anna).endedCount == 0)
    #expect(try await component.get("two", anna).status == .active)
    let all = EndAllActivitiesRequest(userId: "anna", requestId: "all")
    #expect(try await component.debugging.endAllActivities(all, context: admin).endedCount == 2)
    _ = try await component.start(local("later"), anna)
    #expect(try await component.debugging.endAllActivities(all, context: admin).endedCount == 2)
    #expect(try await component.get("later", anna).status == .active)
    await component.close()
  }

  /// "Pushing background updates to your App", "Generating a remote notification".
  @Test func alertsHaveTheTypeThatAppleRequires() async throws {
    let component = try await Fixture().open()
    try await component.register(token(.device, hex(1)), anna)
    func sent(_ request: SendAlertRequest) async throws -> QueuedPush {
      _ = try await component.unread.sendAlert(request, context: program)
      return try #require(try await component.sendAll().first)
    }
    // A badge is visible, so it is no background push, which APNs would throttle.
    let badge = try await sent(.init(userId: "anna", alertId: "1", badge: 0))
    #expect(badge.pushType == "alert" && badge.priority == 10 && badge.payload == #"{"aps":{"badge":0}}"#)
    let silent = try await sent(.init(userId: "anna", alertId: "2", badge: 3, contentAvailable: true, urgency: .low))
    #expect(silent.pushType == "alert" && silent.priority == 5)
    #expect(silent.payload == #"{"aps":{"content-available":1,"badge":3}}"#)
    let background = try await sent(.init(userId: "anna", alertId: "3", urgency: .high))
    #expect(background.pushType == "background" && background.priority == 5)
    #expect(background.payload == #"{"aps":{"content-available":1}}"#)
    let critical = try await sent(
      .init(
        userId: "anna", alertId: "4",
        alert: .init(title: "Fire", sound: .init(name: "siren", critical: true, volume: 0.5)),
        interruptionLevel: .critical))
    #expect(
      critical.payload
        == #"{"aps":{"alert":{"title":"Fire"},"sound":{"critical":1,"name":"siren","volume":0.5},"interruption-level":"critical"}}"#
    )
    let timely = try await sent(
      .init(userId: "anna", alertId: "5", alert: .init(title: "t"), interruptionLevel: .timeSensitive))
    #expect(timely.payload.contains(#""interruption-level":"time-sensitive""#))
    await component.close()
  }

  @Test func alertIsRepeatedAfterItsExpirationTime() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    var request = SendAlertRequest(
      userId: "anna", alertId: "n1", alert: alert(),
      expireTime: ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 1_000))
    #expect(try await !component.unread.sendAlert(request, context: program).repeatedAlert)
    fixture.clock.advance(by: .seconds(2))
    #expect(try await component.unread.sendAlert(request, context: program).repeatedAlert)
    request.alertId = "n2"
    #expect(await failure { try await component.unread.sendAlert(request, context: program) }?.reason == "TIME_PAST")
    await component.close()
  }

  @Test func debugControlsRunARoomThroughItsPhases() async throws {
    let component = try await Fixture().open()
    let debugging = component.debugging
    let start = TestStartRequest(userId: "anna", app: app, environment: "development", origin: .local)
    #expect(try await debugging.testStart(start, context: admin).activity?.room?.phase == .waiting)
    let connected = TestToConnectedRequest(userId: "anna", app: app)
    #expect(try await debugging.testToConnected(connected, context: admin).activity?.room?.phase == .connected)
    let waiting = TestToWaitingRequest(userId: "anna", app: app)
    #expect(try await debugging.testToWaiting(waiting, context: admin).activity?.room?.phase == .waiting)
    let status = GetActivityStatusRequest(userId: "anna", app: app)
    #expect(try await debugging.getActivityStatus(status, context: admin).liveCount == 1)
    let end = TestEndRequest(userId: "anna", app: app)
    #expect(try await debugging.testEnd(end, context: admin).activity?.status == .ended)
    #expect(await failure { try await debugging.testEnd(end, context: admin) }?.code == .notFound)
    for number in 0..<5 { _ = try await component.start(local("a\(number)"), anna) }
    #expect(try await debugging.endAllActivities(.init(userId: "anna"), context: admin).endedCount == 5)
    #expect(try await debugging.getActivityStatus(status, context: admin).liveCount == 0)
    await component.close()
  }
}
