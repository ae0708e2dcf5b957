import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

@Suite struct ActivityLifeTests {
  @Test func localActivityIsUpdatedAndEnded() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let started = try await component.start(local("act-1"), anna)
    #expect(started.status == .active && started.id == "act-1" && started.etag == "v1")
    #expect(started.expireTime?.millisecondsSince1970 == Fixture.startMs + 8 * 3_600_000)
    try await component.register(token(.activityUpdate, hex(1), activity: "act-1"), anna)
    #expect(try component.queued().isEmpty)
    let state = #"{ "b":1.0,  "a" : "ü\u00e9", "b2":1E2 }"#
    let updated = try await component.update("act-1", state, anna)
    #expect(updated.contentStateJson == state && updated.updateTokenCount == 1)
    let update = try #require(try component.queued().first)
    #expect(
      update.payload == #"{"aps":{"timestamp":\#(updated.apsTimestamp),"event":"update","content-state":\#(state)}}"#)
    #expect(update.kind == .update && update.pushType == "liveactivity" && update.priority == 0)
    let ended = try await component.end("act-1", anna)
    #expect(ended.status == .ended && ended.endReason == .requested && ended.contentStateJson == state)
    // The end replaces the unsent update.
    let end = try #require(try component.queued().last)
    #expect(try component.queued().count == 1 && end.kind == .end && end.payload.contains(#""event":"end""#))
    #expect(try #require(end.timestamp) > updated.apsTimestamp)
    #expect(try await component.end("act-1", anna) == ended)
    #expect(try await component.get("act-1", anna).status == .ended)
    await component.close()
  }

  @Test func latestStateReplacesUnsentOnes() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    for number in 1...50 { _ = try await component.update("a", #"{"n":\#(number)}"#, anna) }
    let queued = try component.queued()
    #expect(queued.count == 1 && queued[0].payload.contains(#"{"n":50}"#))
    // An alert is never dropped.
    var loud = try update("a", #"{"n":51}"#)
    loud.alert = alert()
    _ = try await component.activities.updateActivity(loud, context: anna)
    _ = try await component.update("a", #"{"n":52}"#, anna)
    #expect(try component.queued().contains { $0.payload.contains(#""alert":{"title":"Title","body":"Body"}"#) })
    await component.close()
  }

  @Test func newestStateIsPushedToANewToken() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    _ = try await component.update("a", #"{"n":1}"#, anna)
    _ = try await component.update("a", #"{"n":2}"#, anna)
    #expect(try component.queued().isEmpty)
    let first = try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    var sent = try await component.sendAll()
    #expect(sent.map(\.target) == [first.id] && sent[0].payload.contains(#"{"n":2}"#))
    // Registering the same token again pushes nothing; another device or a new token does.
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    #expect(try component.queued().isEmpty)
    let second = try await component.register(
      token(.activityUpdate, hex(2), activity: "a", installation: "pad"), anna)
    sent = try await component.sendAll()
    #expect(sent.map(\.target) == [second.id])
    let rotated = try await component.register(token(.activityUpdate, hex(3), activity: "a"), anna)
    #expect(rotated.id == first.id)
    sent = try await component.sendAll()
    #expect(sent.map(\.target) == [first.id])
    _ = try await component.update("a", #"{"n":3}"#, anna)
    #expect(Set(try component.queued().map(\.target)) == [first.id, second.id])
    await component.close()
  }

  @Test func endIsPushedToATokenRegisteredLater() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    _ = try await component.end("a", anna)
    let token = try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    let sent = try component.queued()
    #expect(sent.map(\.kind) == [.end] && sent[0].target == token.id)
    #expect(token.retireReason == "ACTIVITY_ENDED")
    await component.close()
  }

  @Test func remoteStartIsPushedToTheUsersDevices() async throws {
    let component = try await Fixture().open()
    let missing = await failure { try await component.start(remote("a"), anna) }
    #expect(missing?.code == .failedPrecondition && missing?.reason == "PUSH_TO_START_TOKEN_MISSING")
    let phone = try await component.register(token(.pushToStart, hex(1)), anna)
    let pad = try await component.register(token(.pushToStart, hex(2), installation: "pad"), anna)
    try await component.register(token(.pushToStart, hex(3)), bruno)
    let started = try await component.start(remote("a"), anna)
    #expect(started.status == .starting)
    let sent = try await component.sendAll()
    #expect(Set(sent.map(\.target)) == [phone.id, pad.id])
    #expect(sent.allSatisfy { $0.kind == .start && $0.priority == 10 })
    #expect(
      sent[0].payload
        == #"{"aps":{"timestamp":\#(started.apsTimestamp),"event":"start","content-state":{"n":0},"attributes-type":"TimerActivityAttributes","attributes":{"methodId":"m1"},"input-push-token":1,"alert":{"title":"Title","body":"Body"}}}"#
    )
    _ = try await component.update("a", #"{"n":1}"#, anna)
    #expect(try component.queued().isEmpty)
    try await component.register(token(.activityUpdate, hex(9), activity: "a"), anna)
    #expect(try component.queued().map(\.kind) == [.update])
    let got = try await component.activities.getActivity(.init(activityId: "a"), context: anna)
    #expect(got.activity?.status == .active && got.attributesType == "TimerActivityAttributes")
    #expect(got.attributesJson == #"{"methodId":"m1"}"#)
    var only = try remote("b")
    only.installationId = "pad"
    _ = try await component.sendAll()
    _ = try await component.start(only, anna)
    #expect(try component.queued().map(\.target) == [pad.id])
    await component.close()
  }

  @Test func startsAndEndsAreScheduled() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    try await component.register(token(.pushToStart, hex(1)), anna)
    var request = try remote("a")
    request.startTime = ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 60_000)
    request.endTime = ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 120_000)
    #expect(try await component.start(request, anna).status == .scheduled)
    _ = try await component.update("a", #"{"n":5}"#, anna)
    try await component.runDueTimers()
    #expect(try component.queued().isEmpty)
    fixture.clock.advance(by: .seconds(60))
    try await component.runDueTimers()
    let sent = try await component.sendAll()
    #expect(sent.map(\.kind) == [.start] && sent[0].payload.contains(#"{"n":5}"#))
    try await component.register(token(.activityUpdate, hex(2), activity: "a"), anna)
    fixture.clock.advance(by: .seconds(60))
    try await component.runDueTimers()
    #expect(try await component.get("a", anna).status == .ended)
    #expect(try component.queued().last?.kind == .end)
    // A cancelled start is never pushed.
    request.activityId = "b"
    request.startTime = ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 300_000)
    request.endTime = nil
    _ = try await component.sendAll()
    _ = try await component.start(request, anna)
    #expect(try await component.end("b", anna).endReason == .cancelled)
    fixture.clock.advance(by: .seconds(600))
    try await component.runDueTimers()
    #expect(try component.queued().isEmpty)
    await component.close()
  }

  @Test func scheduledEndAppliesItsFinalState() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    let end = EndActivityRequest(
      activityId: "a", contentStateJson: try object(#"{"final":true}"#),
      dismissalTime: ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 20_000),
      endTime: ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 10_000))
    let planned = try #require(try await component.activities.endActivity(end, context: anna).activity)
    #expect(planned.status == .active && planned.scheduledEndTime == end.endTime)
    #expect(planned.contentStateJson == #"{"n":0}"#)
    fixture.clock.advance(by: .seconds(10))
    try await component.runDueTimers()
    let sent = try component.queued()
    #expect(
      sent.count == 1 && sent[0].payload.contains(#""content-state":{"final":true},"dismissal-date":1770000020}"#))
    await component.close()
  }

  @Test func activityEndsOrRenewsAfterEightHours() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    let start = try await component.register(token(.pushToStart, hex(2)), anna)
    var renewing = try remote("r")
    renewing.renews = true
    _ = try await component.start(renewing, anna)
    let old = try await component.register(token(.activityUpdate, hex(3), activity: "r"), anna)
    _ = try await component.sendAll()
    fixture.clock.advance(by: .milliseconds(8 * 3_600_000))
    try await component.runDueTimers()
    #expect(try await component.get("a", anna).endReason == .expired)
    let renewed = try await component.get("r", anna)
    #expect(renewed.status == .starting && renewed.renewalCount == 1 && renewed.updateTokenCount == 0)
    let sent = try await component.sendAll().filter { $0.payload.contains("\"n\":0") }
    let goodbye = try #require(sent.first { $0.target == old.id })
    let again = try #require(sent.first { $0.target == start.id })
    #expect(goodbye.kind == .end && again.kind == .start)
    #expect(try #require(goodbye.timestamp) < #require(again.timestamp))
    // The renewed activity has its own token.
    let next = try await component.register(token(.activityUpdate, hex(4), activity: "r"), anna)
    #expect(next.id != old.id)
    _ = try await component.update("r", #"{"n":1}"#, anna)
    #expect(try component.queued().last?.target == next.id)
    await component.close()
  }

  @Test func timestampsAscendAcrossRestartsAndClockJumps() async throws {
    let fixture = try Fixture()
    var component = try await fixture.open()
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    var last: Int64 = 0
    for jumpMs in [0, 0, 5_000, -86_400_000, 0, 200_000_000, -1_000] as [Int64] {
      fixture.clock.advance(by: .milliseconds(jumpMs))
      _ = try await component.update("a", #"{"n":1}"#, anna)
      let sent = try await component.sendAll()
      #expect(sent.count == 1 && sent[0].timestamp ?? 0 > last)
      last = sent[0].timestamp ?? 0
      await component.close()
      component = try await fixture.open()
    }
    await component.close()
  }

  @Test func unsentStatesDoNotAdvanceTheTimestamp() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    for number in 1...100 { _ = try await component.update("a", #"{"n":\#(number)}"#, anna) }
    let sent = try await component.sendAll()
    #expect(sent.count == 1 && sent[0].timestamp == Fixture.startMs / 1_000 + 1)
    // An attempted push may have reached the device.
    _ = try await component.update("a", #"{"n":101}"#, anna)
    try await component.store.write { try $0.execute("UPDATE pushes SET attempts = 1") }
    _ = try await component.update("a", #"{"n":102}"#, anna)
    #expect(try component.queued().map(\.timestamp) == [Fixture.startMs / 1_000 + 3])
    await component.close()
  }

  @Test func eachUpdateOfACommitGetsItsOwnVersion() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    let versions = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 1...200 {
        group.addTask { try await component.update("a", #"{"n":\#(number)}"#, anna).etag }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(versions.count == 200)
    let last = try await component.get("a", anna)
    #expect(last.etag == "v201")
    let queued = try component.queued()
    #expect(queued.count == 1 && queued[0].payload.contains(last.contentStateJson))
    await component.close()
  }

  @Test func startIsIdempotentByRequestID() async throws {
    let component = try await Fixture().open()
    var request = try local()
    request.requestId = "once"
    let first = try await component.start(request, anna)
    #expect(try await component.start(request, anna) == first)
    #expect(first.id.hasPrefix("a_"))
    request.app = "com.example.other"
    let reused = await failure { try await component.start(request, anna) }
    #expect(reused?.reason == "REQUEST_ID_REUSED")
    let taken = await failure { try await component.start(local(first.id), anna) }
    #expect(taken?.code == .alreadyExists && taken?.reason == "ACTIVITY_EXISTS")
    // Ids are scoped to their user.
    #expect(try await component.start(local(first.id), bruno).id == first.id)
    await component.close()
  }

  @Test("a repetition of a start gets its response even after the start time has passed")
  func startIsRepeatedAfterItsStartTime() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    try await component.register(token(.pushToStart, hex(1)), anna)
    var request = try remote("a")
    request.startTime = ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 60_000)
    request.requestId = "once"
    let first = try await component.start(request, anna)
    fixture.clock.advance(by: .seconds(120))
    #expect(try await component.start(request, anna) == first)
    request.requestId = "twice"
    #expect(await failure { try await component.start(request, anna) }?.reason == "TIME_PAST")
    var timer = StartTimerRequest(
      activityId: "t", app: app, environment: "development", origin: .local, sessionType: .countup,
      startTime: ProtoTimestamp(millisecondsSince1970: Fixture.startMs), requestId: "timer")
    let started = try await component.timers.startTimer(timer, context: anna)
    fixture.clock.advance(by: .milliseconds(9 * 3_600_000))
    #expect(try await component.timers.startTimer(timer, context: anna) == started)
    timer.requestId = ""
    #expect(await failure { try await component.timers.startTimer(timer, context: anna) }?.reason == "OUT_OF_RANGE")
    await component.close()
  }

  @Test("a repeated update with an alert sounds once, alone or in a batch")
  func updateIsIdempotentByRequestID() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    var loud = try update("a", #"{"n":1}"#)
    (loud.alert, loud.requestId) = (alert(), "loud")
    let first = try #require(try await component.activities.updateActivity(loud, context: anna).activity)
    #expect(try await component.activities.updateActivity(loud, context: anna).activity == first)
    var quiet = try update("a", #"{"n":2}"#)
    quiet.requestId = "quiet"
    let second = try #require(try await component.activities.updateActivity(quiet, context: anna).activity)
    var reused = quiet
    reused.contentStateJson = #"{"n":3}"#
    let results = try await component.activities.batchUpdateActivities(
      .init(requests: [loud, quiet, reused, update("a", #"{"n":4}"#)]), context: anna
    ).results
    let outcomes = results.map { result -> String in
      switch result.outcome {
      case .receipt(let receipt): receipt.etag
      case .error(let error): "\(error.reason) \(error.violations.map(\.field).joined())"
      case nil: ""
      }
    }
    #expect(outcomes == [first.etag, second.etag, "REQUEST_ID_REUSED requests[2].requestId", "v4"])
    #expect(try component.queued().count { $0.kind == .alert } == 1)
    // Another user's request id is another one.
    #expect(await failure { try await component.activities.updateActivity(loud, context: bruno) }?.code == .notFound)
    await component.close()
  }

  @Test func absentValuesOfAnUpdateKeepTheStoredOnes() async throws {
    let component = try await Fixture().open()
    var start = try local("a")
    start.staleTime = ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 60_000)
    start.relevanceScore = 7
    let started = try await component.start(start, anna)
    #expect(started.staleTime == start.staleTime && started.relevanceScore == 7)
    try await component.register(token(.activityUpdate, hex(1), activity: "a"), anna)
    let kept = try await component.update("a", #"{"n":1}"#, anna)
    #expect(kept.staleTime == start.staleTime && kept.relevanceScore == 7)
    #expect(try await component.sendAll()[0].payload.contains(#""stale-date":1770000060,"relevance-score":7"#))
    var change = UpdateActivityRequest(activityId: "a", clearStaleTime: true, clearRelevanceScore: true)
    let cleared = try #require(try await component.activities.updateActivity(change, context: anna).activity)
    #expect(cleared.staleTime == nil && cleared.relevanceScore == nil && cleared.contentStateJson == #"{"n":1}"#)
    change = UpdateActivityRequest(activityId: "a", relevanceScore: 3)
    #expect(try await component.activities.updateActivity(change, context: anna).activity?.relevanceScore == 3)
    await component.close()
  }

  @Test func endTimeInThePastEndsNow() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    _ = try await component.start(local("a"), anna)
    let end = EndActivityRequest(
      activityId: "a", endTime: ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 60_000))
    let planned = try await component.activities.endActivity(end, context: anna).activity
    #expect(planned?.status == .active)
    fixture.clock.advance(by: .seconds(60))
    // A repetition that comes before the timer has run.
    let ended = try #require(try await component.activities.endActivity(end, context: anna).activity)
    #expect(ended.status == .ended)
    fixture.clock.advance(by: .seconds(60))
    #expect(try await component.activities.endActivity(end, context: anna).activity == ended)
    await component.close()
  }

  @Test func batchEntriesSucceedOrFailIndependently() async throws {
    let component = try await Fixture().open()
    for number in 0..<3 { _ = try await component.start(local("a\(number)"), anna) }
    _ = try await component.end("a2", anna)
    var request = BatchUpdateActivitiesRequest(requests: try (0..<4).map { try update("a\($0)", #"{"n":9}"#) })
    request.requests.append(try update("a1", #"{"s":"\#(String(repeating: "x", count: 4_100))"}"#))
    request.requests.append(try update("a0", #"{"n":10}"#))
    request.requests[5].contentStateJson = "[]"
    let results = try await component.activities.batchUpdateActivities(request, context: anna).results
    let reasons = results.map { result -> String in
      switch result.outcome {
      case .receipt(let receipt): receipt.activityId
      case .error(let error): "\(error.reason) \(error.violations.map(\.field).joined())"
      case nil: ""
      }
    }
    #expect(
      reasons == [
        "a0", "a1", "ACTIVITY_ENDED requests[2].activityId", "ACTIVITY_NOT_FOUND requests[3].activityId",
        "PAYLOAD_TOO_LARGE requests[4].contentStateJson", "JSON_INVALID requests[5].contentStateJson",
      ])
    #expect(try await component.get("a0", anna).contentStateJson == #"{"n":9}"#)
    await component.close()
  }

  @Test func listsArePaged() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    for number in 0..<25 {
      _ = try await component.start(local("a\(number)"), anna)
      if number.isMultiple(of: 2) { fixture.clock.advance(by: .milliseconds(1)) }
    }
    _ = try await component.end("a24", anna)
    var request = ListActivitiesRequest(pageSize: 4)
    var ids: [String] = []
    repeat {
      let page = try await component.activities.listActivities(request, context: anna)
      ids += page.activities.map(\.id)
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    #expect(Set(ids).count == 24 && ids.count == 24 && ids.first == "a23")
    request.includeEnded = true
    request.pageSize = 100
    #expect(try await component.activities.listActivities(request, context: anna).activities.count == 25)
    let page = try await component.activities.listActivities(request, context: bruno)
    #expect(page.activities.isEmpty)
    await component.close()
  }
}
