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
    case .activityStarted(let activity): "started \(activity.id)"
    case .activityUpdated(let activity): "updated \(activity.id) \(activity.contentState?.json ?? "")"
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
