import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Sync

/// The list of users for operators.
@Suite struct OperatorTests {
  @Test func otherCallersAndInvalidRequestsAreRefused() async throws {
    try await Fixture().run { component in
      func reason(_ request: ListSyncUsersRequest, _ caller: CallContext) async -> String {
        await refusal { try await component.zones.listSyncUsers(request, context: caller) }
      }
      #expect(await reason(.init(), anna) == "PERMISSION_DENIED SCOPE_MISSING")
      #expect(await reason(.init(), user("anna", scopes: ["sync:operate"])) == "PERMISSION_DENIED SCOPE_MISSING")
      #expect(await reason(.init(), nobody) == "UNAUTHENTICATED PRINCIPAL_MISSING")
      #expect(await reason(.init(pageSize: -1), admin) == "INVALID_ARGUMENT OUT_OF_RANGE")
      #expect(await reason(.init(pageToken: "x"), admin) == "INVALID_ARGUMENT PAGE_TOKEN_INVALID")
      let long = String(repeating: "x", count: 129)
      #expect(await reason(.init(userIdPrefix: long), admin) == "INVALID_ARGUMENT TOO_LONG")
    }
  }

  @Test func usersAreListedWithTheirCounts() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      for name in ["bruno", "carla"] {
        _ = try await component.zones.createZone(.init(zoneId: "Z"), context: user(name))
      }
      let page = try await component.zones.listSyncUsers(.init(pageSize: 2), context: admin)
      #expect(page.users.map(\.userId) == ["anna", "bruno"])
      #expect(page.users[0].deviceCount == 2 && page.users[0].zoneCount == 0 && page.users[0].changeTime == nil)
      #expect(page.users[1].zoneCount == 1 && page.users[1].usedBytes == 0)
      #expect(page.users[1].changeTime?.millisecondsSince1970 == fixture.clock.nowMs)
      let rest = try await component.zones.listSyncUsers(
        .init(pageSize: 2, pageToken: page.nextPageToken), context: admin)
      #expect(rest.users.map(\.userId) == ["carla"] && rest.nextPageToken.isEmpty)
      let some = try await component.zones.listSyncUsers(.init(userIdPrefix: "c"), context: admin)
      #expect(some.users.map(\.userId) == ["carla"])
    }
  }
}
