import CampanileAPI
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// Data that earlier versions have written are the same after the upgrade.
@Suite struct GoldenDataTests {
  private static let golden = GoldenData()

  @Test(arguments: golden.dumps) func dataOfEarlierVersionsAreUnchanged(_ dump: GoldenData.Dump) async throws {
    let fixture = try Fixture()
    try await Self.golden.load(
      dump, into: fixture.folder.file("activities.sqlite"), migrations: ActivitiesMigrations.all)
    let component = try await fixture.open()
    #expect(try await answers(component) == Self.golden.answers(dump))
    await component.close()
  }

  @Test(.whenWritingGoldenData) func writeData() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    try await component.register(token(.device, hex(1)), anna)
    try await component.register(token(.pushToStart, hex(2)), anna)
    _ = try await component.start(remote("remote"), anna)
    _ = try await component.start(local("local"), anna)
    try await component.register(token(.activityUpdate, hex(3), activity: "local"), anna)
    fixture.clock.advance(by: .seconds(2))
    _ = try await component.update("local", #"{"n":1}"#, anna)
    _ = try await component.start(local("ended"), anna)
    _ = try await component.end("ended", anna)
    _ = try await component.timers.startTimer(
      .init(
        activityId: "timer", app: app, environment: "development", origin: .local, methodName: "Run",
        sessionType: .countdown,
        duration: .init(seconds: 60)),
      context: bruno)
    let answers = try await self.answers(component)
    await component.close()
    try Self.golden.write(fixture.folder.file("activities.sqlite"), answers: answers)
  }

  private func answers(_ component: ActivitiesComponent) async throws -> [String] {
    var answers: [String] = []
    for context in [anna, bruno] {
      answers += try await [
        component.activities.listActivities(.init(), context: context).jsonString(),
        component.tokens.listPushTokens(.init(), context: context).jsonString(),
      ]
    }
    answers += try component.queued().map { "\($0.kind) \($0.target) \($0.priority) \($0.pushType) \($0.payload)" }
    return answers
  }
}
