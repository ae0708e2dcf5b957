import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import Synchronization
import Testing

@testable import APNsSimulator

/// SimulatorService without sockets.
@Suite struct SimulatorServiceTests {
  private let bench: Bench
  private let service: SimulatorService

  init() throws {
    bench = try Bench()
    service = SimulatorService(simulator: bench.simulator)
  }

  private func push(_ state: String, at timestamp: Int64, id: String? = nil, to token: String = deviceToken) throws {
    _ = try bench.push(bench.update(state, at: timestamp), to: token, id: id)
  }

  @Test("users without the scope admin, and callers without credentials, are refused")
  func onlyOperatorsMayCall() async throws {
    for caller in [user("anna", scopes: ["simulator:operate"]), user("anna"), nobody] {
      let expected = caller.principal == nil ? "UNAUTHENTICATED PRINCIPAL_MISSING" : "PERMISSION_DENIED SCOPE_MISSING"
      #expect(await refusal { try await service.listScreens(.init(), context: caller) } == expected)
      #expect(await refusal { try await service.getScreen(.init(screenId: "aa"), context: caller) } == expected)
      #expect(await refusal { try await service.listSimulatedPushes(.init(), context: caller) } == expected)
      #expect(await refusal { try await service.listFaults(.init(), context: caller) } == expected)
      #expect(await refusal { try await service.createFault(.init(), context: caller) } == expected)
      #expect(await refusal { try await service.deleteFault(.init(faultId: "1"), context: caller) } == expected)
      #expect(await refusal { try await service.setDeviceConnection(.init(), context: caller) } == expected)
      #expect(await refusal { try await service.invalidateScreen(.init(), context: caller) } == expected)
    }
  }

  @Test func invalidRequestsAreRefused() async throws {
    #expect(await refusal { try await service.getScreen(.init(), context: admin) } == "INVALID_ARGUMENT REQUIRED")
    #expect(
      await refusal { try await service.getScreen(.init(screenId: "aa"), context: admin) }
        == "NOT_FOUND SCREEN_NOT_FOUND")
    #expect(
      await refusal { try await service.getScreen(.init(screenId: "channel-*"), context: admin) }
        == "NOT_FOUND SCREEN_NOT_FOUND")
    #expect(
      await refusal { try await service.listScreens(.init(pageSize: -1), context: admin) }
        == "INVALID_ARGUMENT OUT_OF_RANGE")
    #expect(
      await refusal { try await service.listScreens(.init(pageToken: "x"), context: admin) }
        == "INVALID_ARGUMENT PAGE_TOKEN_INVALID")
    #expect(
      await refusal { try await service.deleteFault(.init(faultId: "7"), context: admin) }
        == "NOT_FOUND FAULT_NOT_FOUND")
    #expect(
      await refusal { try await service.invalidateScreen(.init(screenId: "aa"), context: admin) }
        == "NOT_FOUND SCREEN_NOT_FOUND")
  }

  @Test func statesKeepOrderAndIDs() async throws {
    let ids = (1...25).map { "00000000-0000-4000-8000-0000000001" + ($0 < 10 ? "0\($0)" : "\($0)") }
    for (index, id) in ids.enumerated() { try push(#"{"n":\#(index)}"#, at: Int64(index + 1), id: id) }
    let response = try await service.getScreen(.init(screenId: deviceToken), context: admin)
    #expect(response.states.map(\.apnsId) == Array(ids.suffix(20)))
    #expect(response.states.map(\.number) == Array(6...25))
    #expect(response.states.map(\.contentStateJson) == (5...24).map { #"{"n":\#($0)}"# })
    #expect(response.states.allSatisfy { $0.event == .update && $0.priority == 10 && $0.alert == nil })
    let screen = try #require(response.screen)
    #expect(screen.state == response.states.last && screen.stateCount == 25 && screen.updateCount == 25)
    #expect(screen.kind == .live && screen.app == bundleID && screen.status == .started && screen.connected)
    #expect(screen.device == deviceToken && screen.environment == "any" && screen.highPriorityCount == 25)
  }

  @Test func lookFollowsTheClock() async throws {
    func status() async throws -> ScreenStatus? {
      try await service.getScreen(.init(screenId: deviceToken), context: admin).screen?.status
    }
    let stale = bench.nowSeconds + 60
    _ = try bench.push(
      #"{"aps":{"event":"update","timestamp":1,"content-state":{},"stale-date":\#(stale),"relevance-score":50}}"#)
    #expect(try await status() == .started)
    bench.advance(seconds: 60)
    #expect(try await status() == .stale)
    _ = try bench.push(#"{"aps":{"event":"end","timestamp":2,"dismissal-date":\#(bench.nowSeconds + 99_999)}}"#)
    #expect(try await status() == .ended)
    let state = try #require(try await service.getScreen(.init(screenId: deviceToken), context: admin).states.last)
    #expect(state.event == .end && state.contentStateJson == "{}")
    // Apple removes an activity at most four hours after its end.
    #expect(state.dismissalTime?.seconds == bench.nowSeconds + 4 * 3_600)
    bench.advance(seconds: 4 * 3_600)
    #expect(try await status() == .dismissed)
  }

  @Test func alertsHaveTheirTextsAndBadge() async throws {
    let alert =
      #"{"aps":{"alert":{"title":"T è","body":"B"},"badge":3,"sound":{"name":"bell"},"category":"c"},"nid":"n"}"#
    _ = try bench.push(alert, pushType: "alert", topic: bundleID, priority: "10")
    _ = try bench.push(#"{"aps":{"badge":0}}"#, pushType: "alert", topic: bundleID)
    _ = try bench.push(#"{"aps":{"alert":"only text","badge":"3"}}"#, pushType: "alert", topic: bundleID)
    let response = try await service.getScreen(.init(screenId: deviceToken), context: admin)
    #expect(response.screen?.status == .noActivity && response.screen?.kind == .device)
    #expect(response.states.map(\.badge) == [3, 0, nil])
    #expect(
      response.states.map(\.alert)
        == [ScreenAlert(title: "T è", body: "B", sound: "bell", category: "c"), nil, ScreenAlert(body: "only text")])
    #expect(response.states.first?.payloadJson == alert)
    #expect(response.states.allSatisfy { $0.event == .alert && $0.contentStateJson.isEmpty })
  }

  @Test func discardsAndBudgetAreShown() async throws {
    bench.simulator.state.withLock { $0.limits.updatesPerHourMax = 2 }
    for index in 1...3 { try push("{}", at: Int64(index)) }
    try push("{}", at: 1, id: "00000000-0000-4000-8000-0000000000aa")
    let screen = try #require(try await service.getScreen(.init(screenId: deviceToken), context: admin).screen)
    #expect(screen.budget == ScreenBudget(usedCount: 2, limitCount: 2))
    #expect(screen.discardCounts == ["WITHHELD": 1, "OLD_TIMESTAMP": 1] && screen.stateCount == 2)
    #expect(screen.lastDiscard?.reason == "OLD_TIMESTAMP")
    #expect(screen.lastDiscard?.apnsId == "00000000-0000-4000-8000-0000000000aa")
  }

  @Test func screensAreListedInPagesWithFilters() async throws {
    for index in 0..<5 { try push("{}", at: 1, to: "a\(index)") }
    _ = try bench.push(#"{"aps":{"alert":"x"}}"#, to: "b0", pushType: "alert", topic: bundleID)
    var request = ListScreensRequest(pageSize: 2)
    var found: [String] = []
    repeat {
      let page = try await service.listScreens(request, context: admin)
      #expect(page.screens.count <= 2)
      found += page.screens.map(\.id)
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    #expect(found == ["a0", "a1", "a2", "a3", "a4", "b0"])
    #expect(try await service.listScreens(.init(device: "b0"), context: admin).screens.map(\.id) == ["b0"])
    #expect(try await service.listScreens(.init(app: "other"), context: admin).screens.isEmpty)
  }

  @Test func pushesAreListedNewestFirst() async throws {
    for index in 1...3 { try push("{}", at: Int64(index), to: index == 2 ? "aa" : deviceToken) }
    _ = try bench.push("no JSON", to: "aa", topic: "wrong")
    let all = try await service.listSimulatedPushes(.init(pageSize: 3), context: admin)
    #expect(all.pushes.map(\.screenId) == ["aa", deviceToken, "aa"] && all.pushes[0].reason == "BadTopic")
    let rest = try await service.listSimulatedPushes(.init(pageSize: 3, pageToken: all.nextPageToken), context: admin)
    #expect(rest.pushes.count == 1 && rest.nextPageToken.isEmpty && rest.pushes[0].httpStatus == 200)
    #expect(try await service.listSimulatedPushes(.init(screenId: "aa"), context: admin).pushes.count == 2)
    let one = ListSimulatedPushesRequest(apnsId: rest.pushes[0].apnsId)
    #expect(try await service.listSimulatedPushes(one, context: admin).pushes == rest.pushes)
  }

  @Test func faultsAreAppliedAndShared() async throws {
    let answer = Fault.Effect.answer(FaultAnswer(reason: "TooManyRequests", retryAfter: .init(milliseconds: 5_000)))
    let request = CreateFaultRequest(
      fault: Fault(effect: answer, match: FaultFilter(pushType: "liveactivity"), remainingCount: 1), requestId: "once")
    let made = try #require(try await service.createFault(request, context: admin).fault)
    #expect(try await service.createFault(request, context: admin).fault == made)
    var other = request
    other.fault?.every = 2
    let reused = try #require(await failure { try await service.createFault(other, context: admin) })
    #expect(reused.code == .failedPrecondition && reused.reason == "REQUEST_ID_REUSED")
    #expect(reused.errorMetadata == ["field": "request_id"] && reused.fieldViolations.map(\.field) == ["requestId"])
    #expect(try bench.push(bench.update("{}", at: 1)).text == "429 TooManyRequests")
    #expect(try bench.push(bench.update("{}", at: 1)).text == "200")
    let listed = try await service.listFaults(.init(), context: admin).faults
    #expect(listed.map(\.id) == [made.id] && listed[0].appliedCount == 1 && listed[0].remainingCount == 0)
    #expect(
      listed[0].effect
        == .answer(FaultAnswer(reason: "TooManyRequests", httpStatus: 429, retryAfter: .init(milliseconds: 5_000))))
    _ = try await service.deleteFault(.init(faultId: made.id), context: admin)
    #expect(try await service.listFaults(.init(), context: admin).faults.isEmpty)
  }

  @Test func invalidFaultsAreRefused() async throws {
    func reason(_ fault: Fault?) async -> String {
      await failure { try await service.createFault(.init(fault: fault), context: admin) }?.fieldViolations.first
        .map { "\($0.field) \($0.reason)" } ?? ""
    }
    #expect(await reason(nil) == "fault REQUIRED")
    #expect(await reason(Fault()).hasSuffix("REQUIRED"))
    #expect(await reason(Fault(effect: .answer(.init(reason: "Mine")))) == "fault.answer.httpStatus REQUIRED")
    #expect(
      await reason(Fault(effect: .answer(.init(reason: "Mine", httpStatus: 99))))
        == "fault.answer.httpStatus OUT_OF_RANGE")
    #expect(
      await reason(Fault(effect: .delay(.init(minimum: .init(milliseconds: 2), maximum: .init(milliseconds: 1)))))
        == "fault.delay.maximum OUT_OF_RANGE")
    for seconds in [-1, 601] {
      #expect(
        await reason(Fault(effect: .delay(.init(maximum: .init(seconds: Int64(seconds))))))
          == "fault.delay.maximum OUT_OF_RANGE")
    }
    for seconds in [-1, 86_401] {
      let answer = FaultAnswer(reason: "TooManyRequests", retryAfter: .init(seconds: Int64(seconds)))
      #expect(await reason(Fault(effect: .answer(answer))) == "fault.answer.retryAfter OUT_OF_RANGE")
    }
    #expect(await reason(Fault(effect: .close(.init()), probability: 2)) == "fault.probability OUT_OF_RANGE")
    let past = ProtoTimestamp(millisecondsSince1970: nowMs)
    #expect(await reason(Fault(effect: .close(.init()), endTime: past)) == "fault.endTime TIME_PAST")
    for _ in 0..<64 { _ = try await service.createFault(.init(fault: Fault(effect: .stall(.init()))), context: admin) }
    #expect(
      await refusal { try await service.createFault(.init(fault: Fault(effect: .stall(.init()))), context: admin) }
        == "RESOURCE_EXHAUSTED FAULTS_EXHAUSTED")
  }

  @Test func devicesAreDisconnectedAndTokensInvalidated() async throws {
    try push("{}", at: 1)
    _ = try await service.setDeviceConnection(.init(device: deviceToken), context: admin)
    #expect(try await service.getScreen(.init(screenId: deviceToken), context: admin).screen?.connected == false)
    try push(#"{"n":2}"#, at: 2)
    let connect = SetDeviceConnectionRequest(device: deviceToken, connected: true)
    #expect(try await service.setDeviceConnection(connect, context: admin).deliveredCount == 1)
    let screen = try await service.invalidateScreen(.init(screenId: deviceToken), context: admin).screen
    #expect(screen?.connected == true && screen?.stateCount == 2 && screen?.invalidation?.reason == "Unregistered")
    #expect(try bench.push(bench.update("{}", at: 3)).text == "410 Unregistered")
  }

  @Test func historiesAreBounded() throws {
    var histories = ScreenHistories(countMax: 3, bytesMax: 10_000)
    for number in 1...100 {
      for key in ["a", "b"] {
        histories.append(
          ShownState(
            number: Int64(number), shownAtMs: 0, id: "", priority: 5, isLive: true,
            payload: Array(repeating: 0, count: 3_000)), key)
      }
    }
    #expect(histories.bytes <= 10_000)
    #expect(histories.states("a").map(\.number) == [100] && histories.states("b").map(\.number) == [99, 100])
    histories.remove("a")
    histories.remove("b")
    #expect(histories.bytes == 0)
  }

  @Test("a removed screen leaves no places behind, so that a later one with its key is not evicted early")
  func removedHistoriesLeaveNothing() {
    func state(_ number: Int64) -> ShownState {
      ShownState(
        number: number, shownAtMs: 0, id: "", priority: 5, isLive: true, payload: Array(repeating: 0, count: 3_000))
    }
    var histories = ScreenHistories(countMax: 3, bytesMax: 10_000)
    for _ in 0..<3_000 {
      for number in 1...2 as ClosedRange<Int64> { histories.append(state(number), "a") }
      histories.remove("a")
    }
    #expect(histories.placeCount == 0)
    histories.append(state(1), "a")
    histories.append(state(1), "b")
    histories.remove("a")
    for key in ["a", "c", "d"] { histories.append(state(1), key) }
    #expect(histories.states("b").isEmpty && ["a", "c", "d"].allSatisfy { histories.states($0).count == 1 })
  }
}
