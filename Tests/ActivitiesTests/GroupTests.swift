import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// Changes of the activities of many users together.
@Suite struct GroupTests {
  private static let match = "match-7"

  /// Starts an activity of the group for a user, and registers its token.
  private static func join(
    _ component: ActivitiesComponent, _ id: String, _ number: Int, _ context: CallContext, group: String = match
  ) async throws {
    var request = try local(id)
    request.groupId = group
    _ = try await component.start(request, context)
    try await component.register(token(.activityUpdate, hex(number), activity: id), context)
  }

  private static func update(state: String = #"{"score":"1:0"}"#, pageSize: Int32 = 0) -> UpdateActivityGroupRequest {
    UpdateActivityGroupRequest(app: app, groupId: match, contentStateJson: state, pageSize: pageSize)
  }

  @Test func groupIsUpdatedAcrossUsers() async throws {
    let component = try await Fixture().open()
    try await Self.join(component, "a", 1, anna)
    try await Self.join(component, "b", 2, bruno)
    try await Self.join(component, "other", 3, bruno, group: "match-8")
    _ = try await component.start(local("alone"), anna)
    let response = try await component.groups.updateActivityGroup(Self.update(), context: program)
    #expect(response == UpdateActivityGroupResponse(updatedCount: 2))
    #expect(try component.queued().count == 2)
    for (id, context) in [("a", anna), ("b", bruno)] {
      let activity = try await component.get(id, context)
      #expect(activity.contentStateJson == #"{"score":"1:0"}"# && activity.groupId == Self.match)
    }
    #expect(try await component.get("other", bruno).contentStateJson == #"{"n":0}"#)
    await component.close()
  }

  @Test func pagesVisitEachActivityOnce() async throws {
    let component = try await Fixture().open()
    for number in 1...5 { try await Self.join(component, "a\(number)", number, number < 3 ? anna : bruno) }
    var request = Self.update(pageSize: 2)
    var counts: [Int32] = []
    repeat {
      let response = try await component.groups.updateActivityGroup(request, context: program)
      counts.append(response.updatedCount)
      request.pageToken = response.nextPageToken
    } while !request.pageToken.isEmpty && counts.count < 10
    #expect(counts == [2, 2, 1])
    #expect(try component.queued().count == 5)
    await component.close()
  }

  @Test func repeatedPageChangesNothing() async throws {
    let component = try await Fixture().open()
    try await Self.join(component, "a", 1, anna)
    var request = Self.update()
    request.requestId = "goal-1"
    let first = try await component.groups.updateActivityGroup(request, context: program)
    let etag = try await component.get("a", anna).etag
    #expect(try await component.groups.updateActivityGroup(request, context: program) == first)
    #expect(try await component.get("a", anna).etag == etag)
    await component.close()
  }

  @Test func fullQueueContinuesOnTheNextPage() async throws {
    let component = try await Fixture().open(queuedMax: 2)
    for number in 1...3 { try await Self.join(component, "a\(number)", number, anna) }
    let first = try await component.groups.updateActivityGroup(Self.update(), context: program)
    #expect(first.updatedCount == 2 && !first.nextPageToken.isEmpty)
    var second = Self.update()
    second.pageToken = first.nextPageToken
    let full = await failure { try await component.groups.updateActivityGroup(second, context: program) }
    #expect(full?.reason == "PUSHES_EXHAUSTED")
    _ = try await component.sendAll()
    await component.close()
  }

  @Test func groupEnds() async throws {
    let component = try await Fixture().open()
    for number in 1...3 { try await Self.join(component, "a\(number)", number, number == 1 ? anna : bruno) }
    let request = EndActivityGroupRequest(
      app: app, groupId: Self.match, contentStateJson: #"{"score":"2:1"}"#, pageSize: 2)
    let first = try await component.groups.endActivityGroup(request, context: program)
    #expect(first == EndActivityGroupResponse(endedCount: 2, hasMore: true))
    let second = try await component.groups.endActivityGroup(request, context: program)
    #expect(second == EndActivityGroupResponse(endedCount: 1))
    #expect(try await component.get("a1", anna).status == .ended)
    #expect(try component.queued().map(\.kind) == [.end, .end, .end])
    await component.close()
  }

  @Test func groupsAreForOperators() async throws {
    let component = try await Fixture().open()
    let denied = await failure { try await component.groups.updateActivityGroup(Self.update(), context: anna) }
    #expect(denied?.code == .permissionDenied)
    let empty = await failure {
      try await component.groups.updateActivityGroup(Self.update(state: ""), context: program)
    }
    #expect(empty?.fieldViolations.map(\.field) == ["contentStateJson"])
    var unnamed = Self.update()
    unnamed.groupId = ""
    let invalid = await failure { try await component.groups.updateActivityGroup(unnamed, context: program) }
    #expect(invalid?.fieldViolations.map(\.field) == ["groupId"])
    await component.close()
  }
}
