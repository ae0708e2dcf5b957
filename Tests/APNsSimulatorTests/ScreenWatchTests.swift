import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import ServiceTesting
import Synchronization
import Testing

@testable import APNsSimulator

/// Watches of screens and of pushes.
@Suite struct ScreenWatchTests {
  /// Ends a watch once it has sent enough.
  private struct Enough: Error {}

  /// Returns the first messages of a watch of screens.
  private func screens(
    _ simulator: Simulator, _ request: WatchScreensRequest = .init(), count: Int
  ) async throws -> [WatchScreensResponse] {
    let found = Mutex<[WatchScreensResponse]>([])
    do {
      try await ScreenWatch(simulator: simulator, pageRows: 64).run(request) { response in
        let isEnough = found.withLock {
          $0.append(response)
          return $0.count >= count
        }
        if isEnough { throw Enough() }
      }
    } catch is Enough {}
    return found.withLock { $0 }
  }

  private func pushes(
    _ simulator: Simulator, _ request: WatchSimulatedPushesRequest = .init(), count: Int
  ) async throws -> [WatchSimulatedPushesResponse] {
    let found = Mutex<[WatchSimulatedPushesResponse]>([])
    do {
      try await SimulatedPushWatch(simulator: simulator, pageRows: 2).run(request) { response in
        let isEnough = found.withLock {
          $0.append(response)
          return $0.count >= count
        }
        if isEnough { throw Enough() }
      }
    } catch is Enough {}
    return found.withLock { $0 }
  }

  @Test func watchResumesWithTheNewestStateOfEachScreen() async throws {
    let bench = try Bench()
    let started = try await screens(bench.simulator, count: 1)
    #expect(started[0].event == .started(.init()))
    for index in 1...3 { _ = try bench.push(bench.update(#"{"n":\#(index)}"#, at: Int64(index))) }
    _ = try bench.push(bench.update("{}", at: 1), to: "aa")
    let token = started[0].resumeToken
    let resumed = try await screens(bench.simulator, .init(resumeToken: token), count: 3)
    guard case .screen(let first) = resumed[1].event, case .screen(let second) = resumed[2].event else {
      Issue.record("\(resumed)")
      return
    }
    #expect(first.stateCount == 3 && first.state?.contentStateJson == #"{"n":3}"# && second.id == "aa")
    let later = try await screens(bench.simulator, .init(resumeToken: resumed[1].resumeToken), count: 2)
    #expect(later[1].event == .screen(second))
    let other = try await screens(bench.simulator, .init(resumeToken: token, screenId: "AA"), count: 2)
    #expect(other[1].event == .screen(second))
  }

  @Test func removedScreensAreReported() async throws {
    let bench = try Bench()
    _ = try bench.push(bench.update("{}", at: 1))
    let token = try await screens(bench.simulator, count: 1)[0].resumeToken
    bench.simulator.reset()
    let found = try await screens(bench.simulator, .init(resumeToken: token), count: 2)
    #expect(found[1].event == .removedScreenId(deviceToken))
  }

  @Test func openWatchIsWoken() async throws {
    let bench = try Bench()
    let simulator = bench.simulator
    async let found = screens(simulator, count: 2)
    while simulator.hub.count == 0 { await Task.yield() }
    // The watch subscribes before it reads its start, so it may need another push.
    while simulator.hub.count > 0 {
      _ = try bench.push(bench.update("{}", at: 1))
      await Task.yield()
    }
    guard case .screen(let screen) = try await found[1].event else {
      Issue.record("no screen")
      return
    }
    #expect(screen.id == deviceToken && simulator.hub.count == 0)
  }

  @Test func foreignAndOldTokensAreRefused() async throws {
    let bench = try Bench(
      {
        var limits = SimulatorLimits()
        limits.screenChangesMax = 4
        limits.loggedPushesMax = 4
        return limits
      }())
    let simulator = bench.simulator
    let (screenToken, pushToken) = (
      try await screens(simulator, count: 1)[0].resumeToken, try await pushes(simulator, count: 1)[0].resumeToken
    )
    #expect(
      await refusal { try await self.screens(simulator, .init(resumeToken: "x"), count: 1) }
        == "INVALID_ARGUMENT RESUME_TOKEN_INVALID")
    #expect(
      await refusal { try await self.screens(simulator, .init(resumeToken: pushToken), count: 1) }
        == "INVALID_ARGUMENT RESUME_TOKEN_INVALID")
    for index in 1...4 { _ = try bench.push(bench.update("{}", at: Int64(index))) }
    _ = try await screens(simulator, .init(resumeToken: screenToken), count: 1)
    #expect(try await pushes(simulator, .init(resumeToken: pushToken), count: 5).count == 5)
    _ = try bench.push(bench.update("{}", at: 5))
    #expect(
      await refusal { try await self.screens(simulator, .init(resumeToken: screenToken), count: 1) }
        == "OUT_OF_RANGE TOKEN_TOO_OLD")
    #expect(
      await refusal { try await self.pushes(simulator, .init(resumeToken: pushToken), count: 1) }
        == "OUT_OF_RANGE TOKEN_TOO_OLD")
    let another = try Bench().simulator
    #expect(
      await refusal { try await self.screens(another, .init(resumeToken: screenToken), count: 1) }
        == "OUT_OF_RANGE TOKEN_TOO_OLD")
  }

  @Test func pushesAreWatchedInOrder() async throws {
    let bench = try Bench()
    let list = try await SimulatorService(simulator: bench.simulator).listSimulatedPushes(.init(), context: admin)
    for index in 1...5 { _ = try bench.push(bench.update("{}", at: Int64(index)), to: index == 3 ? "aa" : "bb") }
    let found = try await pushes(bench.simulator, .init(resumeToken: list.resumeToken), count: 6)
    let screens = found.dropFirst().map { response in
      if case .push(let push) = response.event { push.screenId } else { "" }
    }
    #expect(screens == ["bb", "bb", "aa", "bb", "bb"])
    let one = try await pushes(
      bench.simulator, .init(resumeToken: list.resumeToken, screenId: "aa"), count: 2)
    #expect(one.count == 2)
  }

  @Test func endOfTheProcessEndsWatches() async throws {
    let simulator = try Bench().simulator
    simulator.hub.close()
    #expect(await refusal { try await self.screens(simulator, count: 9) } == "UNAVAILABLE SERVICE_STOPPING")
  }
}
