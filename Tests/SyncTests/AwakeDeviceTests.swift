import CampanileAPI
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Sync

/// Two processes of Sync on one database of PostgreSQL: the devices that are awake, and limits.
@Suite(.enabled(if: TestStore.usesPostgreSQL, "it concerns PostgreSQL")) struct AwakeDeviceTests {
  /// Runs `body` with two processes, which show each other that they are alive.
  private func withPair(
    _ fixture: Fixture, wakeLink: (any DeviceWaking)? = nil, _ body: (SyncComponent, SyncComponent) async throws -> Void
  ) async throws {
    try await fixture.run(wakeLink: wakeLink) { first in
      let second = try await fixture.open(wakeLink: wakeLink)
      let presence = [first, second].map { component in Task { await component.runPresence() } }
      try await eventually("both processes are present") { try leases(fixture) == 2 }
      let result: Result<Void, any Error>
      do { result = .success(try await body(first, second)) } catch { result = .failure(error) }
      for task in presence {
        task.cancel()
        await task.value
      }
      await second.close()
      try result.get()
    }
  }

  private func leases(_ fixture: Fixture) throws -> Int {
    try TestStore.column("name", of: "store_leases", where: "name LIKE 'process-%'", fixture.path("sync.sqlite")).count
  }

  @Test("the limits of open uploads hold for all processes together")
  func uploadsAreCountedTogether() async throws {
    var limits = SyncLimits()
    limits.uploadsPerUserMax = 2
    try await withPair(Fixture(limits)) { first, second in
      let content = document(bytes: 300)
      _ = try await first.createUpload(content)
      _ = try await second.createUpload(content)
      for component in [first, second] {
        #expect(await refusal { try await component.createUpload(content) } == "RESOURCE_EXHAUSTED UPLOADS_EXHAUSTED")
      }
    }
  }

  private final class NoDevices: DeviceWaking {
    func wake(_ push: SendAlertRequest) async throws -> SendAlertResponse { SendAlertResponse(apnsIds: ["id"]) }
  }

  @Test("a device with a watch at another process is not woken")
  func devicesAreAwakeEverywhere() async throws {
    let fixture = try Fixture()
    try await withPair(fixture, wakeLink: NoDevices()) { first, second in
      _ = try await first.devices.setSubscriptions(
        .init(deviceId: "watch", subscriptions: [.init()], app: "com.example.app"), context: anna)
      let waker = try #require(first.waker)
      try await second.devices.awake.during("watch", user: "anna") {
        try await first.put("a", "1")
        fixture.clock.advance(by: .milliseconds(WakeBudget.delayMs))
        #expect(try await waker.step() == 1)
      }
      #expect(fixture.wakes == [.awake])
      try await first.put("a", "2")
      fixture.clock.advance(by: .milliseconds(WakeBudget.delayMs))
      #expect(try await waker.step() == 1)
      #expect(fixture.wakes == [.awake, .sent])
    }
  }
}
