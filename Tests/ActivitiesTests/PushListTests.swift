import APNs
import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import Synchronization
import TestSupport
import Testing

@testable import Activities

/// Filters, payloads and watches of pushes.
@Suite struct PushListTests {
  private func with(_ body: (DeliveryHarness, PushDeliveryService) async throws -> Void) async throws {
    let harness = try await DeliveryHarness()
    let clock = harness.clock
    let service = PushDeliveryService(
      store: harness.store, clockMs: { clock.nowMs }, notifier: harness.delivery.notifier, limits: ActivitiesLimits())
    do {
      try await body(harness, service)
    } catch {
      await harness.remove()
      throw error
    }
    await harness.remove()
  }

  /// Pushes one order, and returns its id.
  @discardableResult
  private func push(
    _ harness: DeliveryHarness, _ lane: String, _ kind: PushKind = .alert, app: String = DeliveryHarness.app,
    target: String = "t1", status: Int = 200, _ reason: String = ""
  ) async throws -> String {
    let id = try await harness.enqueue(harness.order(lane, kind, #"{"lane":"\#(lane)"}"#, app: app, target: target))[0]
    harness.sender.answer(try #require(try await harness.send().first), status: status, reason)
    _ = try await harness.send()
    harness.clock.advance(by: .seconds(10))
    return id
  }

  @Test func invalidFiltersAreRefused() async throws {
    try await with { _, service in
      func reason(_ request: ListPushesRequest) async -> String {
        await refusal { try await service.listPushes(request, context: admin) }
      }
      #expect(await reason(.init(userId: "u", activityId: "a")) == "INVALID_ARGUMENT FIELD_NOT_ALLOWED")
      #expect(await reason(.init(tokenId: "t")) == "INVALID_ARGUMENT REQUIRED")
      #expect(await reason(.init(status: .unrecognized(77))) == "INVALID_ARGUMENT ENUM_UNKNOWN")
      #expect(await reason(.init(action: .unrecognized(77))) == "INVALID_ARGUMENT ENUM_UNKNOWN")
      let time = ProtoTimestamp(seconds: 5)
      #expect(await reason(.init(startTime: time, endTime: time)) == "INVALID_ARGUMENT TIME_RANGE_EMPTY")
      // A token of a list with other filters.
      #expect(await reason(.init(pageToken: "x", reason: "BadTopic")) == "INVALID_ARGUMENT PAGE_TOKEN_INVALID")
      #expect(
        await refusal { try await service.listPushes(.init(), context: user("anna", scopes: ["activities"])) }
          == "PERMISSION_DENIED SCOPE_MISSING")
    }
  }

  @Test func filtersSelectPushes() async throws {
    try await with { harness, service in
      let startMs = harness.clock.nowMs
      let a = try await push(harness, "a1")
      let b = try await push(harness, "a2", .update, target: "t2")
      let c = try await push(harness, "a3", status: 400, "BadTopic")
      let d = try await push(harness, "a4", app: "com.example.other", status: 410, "Unregistered")
      func ids(_ request: ListPushesRequest) async throws -> [String] {
        try await service.listPushes(request, context: admin).pushes.map(\.apnsId)
      }
      #expect(try await ids(.init()) == [d, c, b, a])
      #expect(try await ids(.init(status: .accepted)) == [b, a])
      #expect(try await ids(.init(status: .deadLetter)) == [c])
      #expect(try await ids(.init(status: .rejected, reason: "Unregistered")) == [d])
      #expect(try await ids(.init(status: .accepted, reason: "Unregistered")).isEmpty)
      #expect(try await ids(.init(action: .update)) == [b])
      #expect(try await ids(.init(app: "com.example.other")) == [d])
      #expect(try await ids(.init(reason: "BadTopic")) == [c])
      #expect(try await ids(.init(userId: "u1", tokenId: "t2")) == [b])
      #expect(try await ids(.init(activityId: "a3", status: .deadLetter)) == [c])
      let (from, to) = (
        ProtoTimestamp(millisecondsSince1970: startMs + 10_000), ProtoTimestamp(millisecondsSince1970: startMs + 30_000)
      )
      #expect(try await ids(.init(startTime: from, endTime: to)) == [c, b])
      let push = try await service.getPush(.init(apnsId: b), context: admin).push
      #expect(push?.tokenId == "t2")
    }
  }

  @Test func filteredPagesContinue() async throws {
    try await with { harness, service in
      var expected: [String] = []
      for index in 0..<7 {
        let id = try await push(harness, "a\(index)", index.isMultiple(of: 2) ? .alert : .update)
        if index.isMultiple(of: 2) { expected.insert(id, at: 0) }
      }
      var request = ListPushesRequest(pageSize: 1, action: .alert)
      var found: [String] = []
      repeat {
        let page = try await service.listPushes(request, context: admin)
        found += page.pushes.map(\.apnsId)
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      #expect(found == expected)
    }
  }

  @Test func payloadIsReturnedWhileItIsKept() async throws {
    try await with { harness, service in
      func payload(_ id: String) async throws -> String {
        #expect(try await service.getPush(.init(apnsId: id), context: admin).payloadJson.isEmpty)
        return try await service.getPush(.init(apnsId: id, includePayload: true), context: admin).payloadJson
      }
      let waiting = try await harness.enqueue(harness.order("w", .alert, #"{"n":1}"#))[0]
      #expect(try await payload(waiting) == #"{"n":1}"#)
      harness.sender.answer(try #require(try await harness.send().first), status: 200)
      _ = try await harness.send()
      #expect(try await payload(waiting) == "")
      let dead = try await push(harness, "d", status: 400, "BadTopic")
      #expect(try await payload(dead) == #"{"lane":"d"}"#)
    }
  }

  private struct Enough: Error {}

  private func watch(
    _ service: PushDeliveryService, _ request: WatchPushesRequest = .init(), count: Int
  ) async throws -> [WatchPushesResponse] {
    let found = Mutex<[WatchPushesResponse]>([])
    let watch = PushWatch(store: service.store, ends: service.notifier.ends)
    do {
      try await watch.run(request) { response in
        let isEnough = found.withLock {
          $0.append(response)
          return $0.count >= count
        }
        if isEnough { throw Enough() }
      }
    } catch is Enough {}
    return found.withLock { $0 }
  }

  @Test func watchResumesInTheOrderOfTheEnds() async throws {
    try await with { harness, service in
      let token = try await service.listPushes(.init(), context: admin).resumeToken
      let a = try await push(harness, "a1")
      let b = try await push(harness, "a2", status: 400, "BadTopic")
      let found = try await watch(service, .init(resumeToken: token), count: 3)
      let pushes = found.compactMap { if case .push(let push)? = $0.event { push } else { nil } }
      #expect(found[0].event == .started(.init()) && pushes.map(\.apnsId) == [a, b])
      #expect(pushes.map(\.status) == [.accepted, .deadLetter])
      let later = try await watch(service, .init(resumeToken: found[1].resumeToken), count: 2)
      #expect(later[1].event == .push(pushes[1]))
      let one = try await watch(service, .init(resumeToken: token, activityId: "a2"), count: 2)
      #expect(one[1].event == .push(pushes[1]))
      // A replayed push is no longer in the delivery log.
      _ = try await service.replayDeadLetters(.init(apnsIds: [b]), context: admin)
      let c = try await push(harness, "a3")
      let replayed = try await watch(service, .init(resumeToken: found[1].resumeToken), count: 2)
      if case .push(let push)? = replayed[1].event { #expect([b, c].contains(push.apnsId)) }
    }
  }

  @Test func foreignAndOldTokensAreRefused() async throws {
    try await with { harness, service in
      #expect(
        await refusal { try await watch(service, .init(resumeToken: "x"), count: 1) }
          == "INVALID_ARGUMENT RESUME_TOKEN_INVALID")
      let other = PushEnds(epoch: 1, hub: WatchHub(limits: ActivitiesLimits()), countMax: 2)
      #expect(
        await refusal {
          try await watch(
            service, .init(resumeToken: other.start(resumeToken: "", service.store).text(user: PushEnds.scope)),
            count: 1)
        }
          == "OUT_OF_RANGE TOKEN_TOO_OLD")
      let start = try await other.start(resumeToken: "", service.store)
      other.append(["a", "b"])
      let found = try await other.entries(after: start, limit: 9, service.store)
      #expect(found.map(\.apnsID) == ["a", "b"] && found.map(\.sequence) == [1, 2])
      other.append(["c"])
      #expect(
        await refusal { try await other.entries(after: start, limit: 9, service.store) } == "OUT_OF_RANGE TOKEN_TOO_OLD"
      )
    }
  }

  @Test func rolledBackEndsAreNotWatched() async throws {
    try await with { _, service in
      let notifier = DeliveryNotifier(ends: PushEnds(epoch: 0, hub: WatchHub(limits: ActivitiesLimits())))
      notifier.begin()
      notifier.ended("a")
      notifier.committed(isKept: false)
      notifier.begin()
      notifier.ended("b")
      notifier.committed(isKept: true)
      let start = ResumeToken(epoch: 0, sequence: 0)
      let found = try await notifier.ends.entries(after: start, limit: 9, service.store)
      #expect(found.map(\.apnsID) == ["b"])
    }
  }
}
