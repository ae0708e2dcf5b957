import TestSupport
import Testing

@testable import CampanileHealthReflection

@Suite struct HealthTests {
  let registry = HealthRegistry()

  @Test func serverIsInitiallyNotServing() {
    #expect(registry.status(of: "") == .notServing)
    #expect(registry.status(of: "a") == nil)
    registry.set("a", .serving)
    #expect(registry.list() == ["": .notServing, "a": .serving])
    registry.set("a", .serviceUnknown)
    #expect(registry.status(of: "a") == nil)
  }

  @Test func watchReportsCurrentStatusAndEachChange() async throws {
    var states = try #require(registry.watch("a")).makeAsyncIterator()
    #expect(await states.next() == .serviceUnknown)
    registry.set("a", .serving)
    #expect(await states.next() == .serving)
    registry.set("a", .serving)
    registry.set("b", .notServing)
    registry.set("a", .notServing)
    #expect(await states.next() == .notServing)
  }

  @Test func slowReaderSeesOnlyLatestStatus() async throws {
    var states = try #require(registry.watch("a")).makeAsyncIterator()
    for _ in 0..<10_000 {
      registry.set("a", .notServing)
      registry.set("a", .serving)
    }
    #expect(await states.next() == .serving)
  }

  @Test func drainingIsPermanentAndEndsWatches() async throws {
    registry.set("", .serving)
    registry.set("a", .serving)
    var states = try #require(registry.watch("a")).makeAsyncIterator()
    #expect(await states.next() == .serving)
    registry.beginDraining()
    registry.set("a", .serving)
    #expect(await states.next() == .notServing)
    #expect(await states.next() == nil)
    #expect(registry.list() == ["": .notServing, "a": .notServing])
    #expect(registry.isDraining)
    var late = try #require(registry.watch("")).makeAsyncIterator()
    #expect(await late.next() == .notServing)
    #expect(await late.next() == nil)
    #expect(registry.watcherCount == 0)
  }

  @Test func watchesAreLimitedAndReleased() async throws {
    var streams: [AsyncStream<HealthStatus>] = []
    for _ in 0..<HealthRegistry.maximumWatchers { streams.append(try #require(registry.watch(""))) }
    #expect(registry.watch("") == nil)
    streams.removeAll()
    try await eventually("watches are released") { [registry] in registry.watcherCount == 0 }
    #expect(registry.watch("") != nil)
  }

  @Test func servicesAreLimited() {
    for index in 0..<5000 { registry.set("s\(index)", .serving) }
    #expect(registry.list().count == HealthRegistry.maximumServices)
  }

  @Test func servicesAreServingUntilDrain() async throws {
    let registry = HealthRegistry(serving: ["a"])
    #expect(registry.list() == ["": .serving, "a": .serving])
    HealthService(registry).drainBegan()
    #expect(registry.list() == ["": .notServing, "a": .notServing])
  }
}
