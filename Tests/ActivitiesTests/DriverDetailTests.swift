import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// Stale times, scores, links, spoken texts and alerts of driven activities.
@Suite struct DriverDetailTests {
  private static let room = String(repeating: "0a", count: 24)

  private static func timer(_ id: String) -> StartTimerRequest {
    StartTimerRequest(
      activityId: id, app: app, environment: "development", origin: .local, methodName: "Run", sessionType: .countdown,
      duration: .init(seconds: 600))
  }

  @Test("a timer's pushes have the stale date and the relevance scores of seed 003 and its app")
  func timerHasStaleTimeAndScore() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let started = try #require(try await component.timers.startTimer(Self.timer("t"), context: anna).activity)
    let staleMs = Fixture.startMs + 8 * 3_600_000
    #expect(started.staleTime?.millisecondsSince1970 == staleMs && started.relevanceScore == 100)
    try await component.register(token(.activityUpdate, hex(1), activity: "t"), anna)
    let paused = try await component.timers.pauseTimer(.init(activityId: "t"), context: anna).activity
    #expect(paused?.relevanceScore == 50)
    let sent = try await component.sendAll()
    #expect(sent[0].payload.contains(#""stale-date":\#(staleMs / 1_000),"relevance-score":50"#))
    #expect(
      try await component.timers.resumeTimer(.init(activityId: "t"), context: anna).activity?.relevanceScore == 100)
    // A caller's values stay.
    var own = Self.timer("own")
    (own.staleTime, own.relevanceScore) = (ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 1_000), 7)
    _ = try await component.timers.startTimer(own, context: anna)
    let other = try await component.timers.pauseTimer(.init(activityId: "own"), context: anna).activity
    #expect(other?.relevanceScore == 7 && other?.staleTime == own.staleTime)
    await component.close()
  }

  @Test func statesHaveTheURLThatATapOpens() async throws {
    let component = try await Fixture().open()
    var timer = Self.timer("t")
    timer.url = "growth://timer/7"
    let join = JoinRoomRequest(
      app: app, environment: "development", roomId: Self.room, origin: .local, url: "inviso://rooms/7")
    let unread = StartUnreadActivityRequest(
      app: app, environment: "development", origin: .local, url: "zentik://notifications")
    let states = [
      try await component.timers.startTimer(timer, context: anna).activity,
      try await component.rooms.joinRoom(join, context: anna).activity,
      try await component.unread.startUnreadActivity(unread, context: anna).activity,
    ].map { $0?.contentStateJson ?? "" }
    #expect(zip(states, [timer.url, join.url, unread.url]).allSatisfy { $0.contains(#""url":"\#($1)""#) })
    // Later states keep it.
    let paused = try await component.timers.pauseTimer(.init(activityId: "t"), context: anna).activity
    #expect(paused?.contentStateJson.contains(#""url":"growth://timer/7""#) == true && paused?.timer?.url == timer.url)
    await component.close()
  }

  @Test(arguments: ["room", ":x", "1a:x", "https:", "http://a b", "inviso://räume"])
  func otherURLsAreRejected(url: String) async throws {
    let component = try await Fixture().open()
    var timer = Self.timer("t")
    timer.url = url
    let error = await failure { try await component.timers.startTimer(timer, context: anna) }
    #expect(error?.fieldViolations.map(\.reason) == ["URL_INVALID"])
    await component.close()
  }

  @Test func peerIsReportedWithAnAlert() async throws {
    let component = try await Fixture().open()
    let join = JoinRoomRequest(
      app: app, environment: "development", roomId: Self.room, activityId: "r", origin: .local)
    _ = try await component.rooms.joinRoom(join, context: anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "r"), anna)
    var peer = ReportPeerRequest(app: app, roomId: Self.room, connected: true, alert: alert())
    peer.alert?.sound = Sound(name: "default")
    _ = try await component.rooms.reportPeer(peer, context: anna)
    let sent = try await component.sendAll()
    #expect(sent.map(\.kind) == [.alert] && sent[0].payload.contains("#34C759"))
    #expect(sent[0].payload.contains(#""alert":{"title":"Title","body":"Body","sound":"default"}"#))
    // A repeated report changes nothing, so that it alerts nobody.
    _ = try await component.rooms.reportPeer(peer, context: anna)
    #expect(try component.queued().isEmpty)
    peer.alert = Alert(title: "Title")
    let incomplete = await failure { try await component.rooms.reportPeer(peer, context: anna) }
    #expect(incomplete?.fieldViolations.map(\.field) == ["alert"])
    await component.close()
  }

  @Test("an unread activity has the attributes of seed 000 unless others are given")
  func unreadActivityHasDefaultAttributes() async throws {
    let component = try await Fixture().open()
    for given in ["", "mine"] {
      let request = StartUnreadActivityRequest(
        activityId: given, app: app, environment: "development", origin: .local)
      let id = try #require(try await component.unread.startUnreadActivity(request, context: anna).activity).id
      let got = try await component.activities.getActivity(.init(activityId: id), context: anna)
      #expect(got.attributesJson == #"{"id":"\#(id)"}"# && (given.isEmpty || id == given))
    }
    let bad = await failure {
      try await component.unread.startUnreadActivity(
        StartUnreadActivityRequest(activityId: "a\"b", app: app, environment: "development", origin: .local),
        context: anna)
    }
    #expect(bad?.fieldViolations.map(\.field) == ["activityId"])
    await component.close()
  }

  @Test(arguments: [
    (0, "0 seconds"), (1_000, "1 second"), (61_000, "1 minute 1 second"), (1_800_000, "30 minutes"),
    (3_661_000, "1 hour 1 minute"), (7_200_000, "2 hours"), (-5, "0 seconds"),
  ])
  func durationsAreSpoken(ms: Int64, text: String) { #expect(SpokenText.duration(ms: ms) == text) }

  @Test func timersAreSpoken() throws {
    func state(_ type: TimerSessionType, seconds: Int64?) -> TimerState {
      TimerState(
        startTime: ProtoTimestamp(millisecondsSince1970: 0), duration: seconds.map { ProtoDuration(seconds: $0) },
        methodName: "Focus", sessionType: type)
    }
    var timer = TimerMachine(state(.countdown, seconds: 1_800))
    _ = try timer.handle(.pause, atMs: 725_000)
    #expect(SpokenText.timer(timer) == "Focus, countdown of 30 minutes, paused after 12 minutes 5 seconds")
    _ = try timer.handle(.complete, atMs: 800_000)
    #expect(SpokenText.timer(timer) == "Focus, completed")
    #expect(SpokenText.timer(TimerMachine(state(.countup, seconds: nil))) == "Focus, countup, running")
  }

  @Test func unreadCountsAreSpoken() {
    let item = UnreadItem(id: "n", title: String(repeating: "ü", count: 200))
    #expect(SpokenText.unread(0, newest: item) == "No unread notifications")
    #expect(SpokenText.unread(1, newest: UnreadItem(title: "Hello")) == "1 unread notification: Hello")
    #expect(SpokenText.unread(12, newest: item).hasSuffix("Newest: " + String(repeating: "ü", count: 100)))
  }
}
