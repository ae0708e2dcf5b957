import Testing

@testable import CampanileServer

@Suite struct ReadinessTests {
  @Test func readinessReportsProblems() async {
    let readiness = ReadinessRegistry(timeout: .milliseconds(50)) { true }
    #expect(await readiness.report() == .init(isReady: true, problems: ["server": nil]))
    readiness.add(ReadinessCheck("store") { nil })
    readiness.add(ReadinessCheck("backend") { "refused" })
    let report = await readiness.report()
    #expect(!report.isReady)
    #expect(report.problems == ["server": nil, "store": nil, "backend": "refused"])
    readiness.add(ReadinessCheck("backend") { nil })
    #expect(await readiness.report().isReady)
    readiness.add(
      ReadinessCheck("stuck") {
        // Ignores cancellation; the report must not wait for it.
        await withCheckedContinuation { continuation in
          Task.detached {
            try? await Task.sleep(for: .seconds(1))
            continuation.resume()
          }
        }
        return nil
      })
    #expect(await readiness.report().problems["stuck"] == "no response within 50 ms")
    #expect(await ReadinessRegistry { false }.report().problems == ["server": "not serving"])
  }
}
