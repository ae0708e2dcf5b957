import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// The list of users for operators.
@Suite struct ActivityUserTests {
  @Test func usersAreListedWithTheirCounts() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    for name in ["anna", "bruno", "carla"] {
      let start = StartActivityRequest(
        app: app, environment: "development", origin: .local, contentStateJson: "{}")
      _ = try await component.activities.startActivity(start, context: user(name))
    }
    let page = try await component.pushes.listActivityUsers(.init(pageSize: 2), context: admin)
    #expect(page.users.map(\.userId) == ["anna", "bruno"])
    #expect(page.users[0].activityCount == 1 && page.users[0].tokenCount == 0)
    #expect(page.users[0].changeTime?.millisecondsSince1970 == fixture.clock.nowMs)
    let rest = ListActivityUsersRequest(pageSize: 2, pageToken: page.nextPageToken)
    #expect(try await component.pushes.listActivityUsers(rest, context: admin).users.map(\.userId) == ["carla"])
    let some = ListActivityUsersRequest(userIdPrefix: "b")
    #expect(try await component.pushes.listActivityUsers(some, context: admin).users.map(\.userId) == ["bruno"])
    #expect(
      await refusal { try await component.pushes.listActivityUsers(.init(), context: anna) }
        == "PERMISSION_DENIED SCOPE_MISSING")
    #expect(
      await refusal { try await component.pushes.listActivityUsers(.init(pageToken: "x"), context: admin) }
        == "INVALID_ARGUMENT PAGE_TOKEN_INVALID")
    await component.close()
  }
}
