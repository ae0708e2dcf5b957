import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import Synchronization
import Testing

@testable import Activities

@Suite struct WatchTests {
  /// Watches until `count` events have arrived.
  private static func events(
    _ component: ActivitiesComponent, _ user: String, count: Int, from token: String = "", activity: String = "",
    started: @escaping @Sendable () async throws -> Void = {}
  ) async throws -> [WatchActivitiesResponse] {
    let asked = WatchActivitiesRequest(resumeToken: token, activityId: activity)
    let seen = Mutex<[WatchActivitiesResponse]>([])
    struct Enough: Error {}
    do {
      try await component.activities.watch.run(asked, user: user) { response in
        let total = seen.withLock { events in
          events.append(response)
          return events.count
        }
        if total == 1 { try await started() }
        if total > count { throw Enough() }
      }
    } catch is Enough {}
    return seen.withLock { $0 }
  }

  private static func name(_ response: WatchActivitiesResponse) -> String {
    switch response.event {
    case .started: "watch"
    case .change(let change): name(change)
    case nil: "none"
    }
  }

  private static func name(_ change: ActivityChange) -> String {
    switch change.change {
    case .activityStarted(let activity): "started \(activity.id)"
    case .activityUpdated(let activity): "updated \(activity.id) \(activity.contentStateJson)"
    case .activityEnded(let activity): "ended \(activity.id)"
    case nil: "none"
    }
  }

  @Test func changesArriveInOrderAndResume() async throws {
    let component = try await Fixture().open()
    let first = try await Self.events(component, "anna", count: 1) {
      _ = try await component.start(local("a"), anna)
      _ = try await component.start(local("foreign"), bruno)
    }
    #expect(first.map(Self.name) == ["watch", "started a"])
    _ = try await component.update("a", #"{"n":1}"#, anna)
    _ = try await component.update("a", #"{"n":2}"#, anna)
    _ = try await component.start(local("b"), anna)
    let token = try #require(first.last?.resumeToken)
    let second = try await Self.events(component, "anna", count: 2, from: token)
    // Of several quick states only the last is visible.
    #expect(second.map(Self.name) == ["watch", #"updated a {"n":2}"#, "started b"])
    _ = try await component.end("a", anna)
    let third = try await Self.events(component, "anna", count: 9, from: token, activity: "a")
    #expect(third.map(Self.name) == ["watch", "ended a"])
    await component.close()
  }

  /// Reads all changes after a token, in pages.
  private static func changes(
    _ component: ActivitiesComponent, from token: String, activity: String = "", pageSize: Int32 = 2
  ) async throws -> (names: [String], token: String) {
    var request = ListActivityChangesRequest(resumeToken: token, pageSize: pageSize, activityId: activity)
    var names: [String] = []
    // Bounded, because tests make few changes.
    for _ in 0..<100 {
      let page = try await component.activities.listActivityChanges(request, context: anna)
      #expect(page.changes.count <= pageSize)
      names += page.changes.map(Self.name)
      request.resumeToken = page.resumeToken
      if !page.hasMore { break }
    }
    return (names, request.resumeToken)
  }

  @Test("reading a list and then the changes after its token misses nothing")
  func changesFollowTheTokenOfAList() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    let list = try await component.activities.listActivities(.init(), context: anna)
    #expect(list.activities.map(\.id) == ["a"])
    let none = try await component.activities.listActivityChanges(.init(), context: anna)
    #expect(none.changes.isEmpty && !none.hasMore && none.resumeToken == list.resumeToken)
    _ = try await component.update("a", #"{"n":1}"#, anna)
    _ = try await component.start(local("foreign"), bruno)
    for number in 0..<3 { _ = try await component.start(local("b\(number)"), anna) }
    _ = try await component.end("b0", anna)
    let read = try await Self.changes(component, from: list.resumeToken)
    #expect(read.names == [#"updated a {"n":1}"#, "started b0", "started b1", "started b2", "ended b0"])
    #expect(try await Self.changes(component, from: read.token).names.isEmpty)
    let only = try await Self.changes(component, from: list.resumeToken, activity: "b0", pageSize: 1)
    #expect(only.names == ["started b0", "ended b0"])
    // A watch goes on where the list ended.
    let watched = try await Self.events(component, "anna", count: 1, from: read.token) {
      _ = try await component.update("a", #"{"n":2}"#, anna)
    }
    #expect(watched.map(Self.name) == ["watch", #"updated a {"n":2}"#])
    await component.close()
  }

  @Test func pageOfChangesEndsAtItsMaximumSize() async throws {
    var limits = ActivitiesLimits()
    limits.pageBytesMax = 3_000
    let component = try await Fixture(limits).open()
    let token = try await component.activities.listActivities(.init(), context: anna).resumeToken
    let state = #"{"s":"\#(String(repeating: "x", count: 1_000))"}"#
    for number in 0..<5 { _ = try await component.start(local("a\(number)", state: state), anna) }
    let page = try await component.activities.listActivityChanges(.init(resumeToken: token), context: anna)
    #expect(page.changes.count == 1 && page.hasMore)
    #expect(try await Self.changes(component, from: token, pageSize: 1_000).names.count == 5)
    await component.close()
  }

  @Test func invalidChangeRequestsAreRejected() async throws {
    let component = try await Fixture().open()
    let error = await failure {
      try await component.activities.listActivityChanges(.init(resumeToken: "x", pageSize: -1), context: anna)
    }
    #expect(error?.fieldViolations.map(\.field) == ["pageSize"])
    let token = await failure {
      try await component.activities.listActivityChanges(.init(resumeToken: "x"), context: anna)
    }
    #expect(token?.reason == "RESUME_TOKEN_INVALID")
    await component.close()
  }

  @Test func resumeTokensAreBoundToTheirUser() async throws {
    let component = try await Fixture().open()
    let events = try await Self.events(component, "anna", count: 1) {
      _ = try await component.start(local("a"), anna)
    }
    let token = try #require(events.last?.resumeToken)
    let foreign = await failure { try await Self.events(component, "bruno", count: 1, from: token) }
    #expect(foreign?.reason == "RESUME_TOKEN_INVALID")
    let nonsense = await failure { try await Self.events(component, "anna", count: 1, from: "x") }
    #expect(nonsense?.fieldViolations.map(\.field) == ["resumeToken"])
    await component.close()
  }
}
