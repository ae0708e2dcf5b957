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

/// Tokens of another environment than their activity's, complete tokens, and the expiration of updates.
@Suite struct TokenEnvironmentTests {
  private static func token(_ number: Int, _ environment: String, installation: String = "phone")
    -> RegisterPushTokenRequest
  {
    RegisterPushTokenRequest(
      kind: .activityUpdate, token: hex(number), app: app, environment: environment, installationId: installation,
      activityId: "a")
  }

  /// Environments of the queued pushes.
  private static func environments(_ component: ActivitiesComponent) throws -> [String] {
    try component.store.readBlocking { transaction in
      try transaction.query(
        "SELECT r.environment FROM pushes p JOIN push_routes r ON r.id = p.route_id ORDER BY p.apns_id"
      ) { try $0.text(0) }
    }
  }

  @Test func localActivityMovesToTheEnvironmentOfItsOnlyToken() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    _ = try await component.update("a", #"{"n":1}"#, anna)
    try await component.register(Self.token(1, "production"), anna)
    #expect(try await component.get("a", anna).environment == "production")
    #expect(try Self.environments(component) == ["production"])
    // The unsent state of the token follows to the next environment.
    _ = try await component.update("a", #"{"n":2}"#, anna)
    try await component.register(Self.token(2, "sandbox"), anna)
    #expect(try Set(Self.environments(component)) == ["sandbox"])
    await component.close()
  }

  @Test func otherActivitiesStayInTheirEnvironment() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    try await component.register(Self.token(1, "development"), anna)
    let pad = await failure { try await component.register(Self.token(2, "production", installation: "pad"), anna) }
    #expect(pad?.reason == "ENVIRONMENT_MISMATCH")
    #expect(try await component.get("a", anna).environment == "development")
    _ = try await component.end("a", anna)
    let ended = await failure { try await component.register(Self.token(3, "production"), anna) }
    #expect(ended?.reason == "ENVIRONMENT_MISMATCH")
    await component.close()
  }

  @Test func ownerReadsTheCompleteToken() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    _ = try await component.start(local("a"), anna)
    func read(_ context: CallContext, installation: String = "") async throws -> String {
      let request = GetActivityPushTokenRequest(activityId: "a", installationId: installation)
      return try await component.tokens.getActivityPushToken(request, context: context).token
    }
    #expect(await failure { try await read(anna) }?.reason == "TOKEN_NOT_FOUND")
    try await component.register(Self.token(1, "development"), anna)
    fixture.clock.advance(by: .milliseconds(1))
    try await component.register(Self.token(2, "development", installation: "pad"), anna)
    #expect(try await read(anna) == hex(2))
    #expect(try await read(anna, installation: "phone") == hex(1))
    #expect(await failure { try await read(bruno) }?.reason == "ACTIVITY_NOT_FOUND")
    _ = try await component.end("a", anna)
    #expect(await failure { try await read(anna) }?.reason == "TOKEN_NOT_FOUND")
    await component.close()
  }

  @Test("an update next to alerts is not stored by APNs (Sending notification requests to APNs: one per bundle id)")
  func updateDisplacesNoAlert() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    try await component.register(Self.token(1, "development"), anna)
    func expirations() async throws -> [Int64?] {
      let found = try component.store.readBlocking { transaction in
        try transaction.query("SELECT expiration_ms FROM pushes ORDER BY apns_id") { try $0.integerIfPresent(0) }
      }
      _ = try await component.sendAll()
      return found
    }
    let latest = Fixture.startMs + 12 * 3_600_000
    _ = try await component.update("a", #"{"n":1}"#, anna)
    #expect(try await expirations() == [latest])
    try await component.register(
      RegisterPushTokenRequest(
        kind: .device, token: hex(9), app: app, environment: "development", installationId: "phone"), anna)
    _ = try await component.update("a", #"{"n":2}"#, anna)
    #expect(try await expirations() == [0])
    var alerting = try update("a", #"{"n":3}"#)
    alerting.alert = alert()
    _ = try await component.activities.updateActivity(alerting, context: anna)
    #expect(try await expirations() == [latest])
    _ = try await component.end("a", anna)
    #expect(try await expirations() == [Fixture.startMs + 4 * 3_600_000])
    await component.close()
  }
}
