import CampanileRPC
import Synchronization
import Testing

@testable import CampanileLoad

/// A tester that waits for its processor tells so, and wakes less.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ProcessorWatchTests {
  /// Looks at the end of every window, in which the thread waited for so many milliseconds of its 500.
  private func watch(_ waitsMs: [Int64?], measuredFromMs: Int64 = 0) -> ProcessorWatch {
    var (waited, known) = (Int64(77), true)
    var watch = ProcessorWatch { known ? waited : nil }
    let measuredFromNs = measuredFromMs * 1_000_000
    watch.look(nowNs: 0, measuredFromNs: measuredFromNs)
    for (index, waitMs) in waitsMs.enumerated() {
      known = waitMs != nil
      waited += (waitMs ?? 0) * 1_000_000
      watch.look(
        nowNs: Int64(index + 1) * ProcessorWatch.windowMs * 1_000_000, measuredFromNs: measuredFromNs)
    }
    return watch
  }

  @Test func theShareIsOfTheWindowsThatAreMeasured() {
    #expect(watch([]).waitShare == nil)
    #expect(watch([400, 400], measuredFromMs: 1_000).waitShare == nil)
    #expect(watch([400, 400, 100, 200], measuredFromMs: 1_000).waitShare == 0.3)
    // A clock that is read twice for one window may tell more than the window has.
    #expect(watch([501]).waitShare == 1)
  }

  @Test func whoHasWaitedSharesItsProcessorFromThenOn() {
    #expect(watch([0, 50, 50, 50]).slackNs == 0)
    #expect(watch([0, 51]).slackNs == ProcessorWatch.sharedSlackNs)
    #expect(watch([400, 0, 0, 0]).slackNs == ProcessorWatch.sharedSlackNs)
    #expect(ProcessorWatch.sharedSlackNs < LoadPlan.lateMs * 1_000_000)
  }

  @Test func whereNobodyTellsNothingIsKnown() {
    let watch = watch([nil, nil, nil])
    #expect(watch.waitShare == nil && watch.slackNs == 0)
    #expect(["", "1 2", "1 x 3", "1 2 3 4"].allSatisfy { ProcessorWatch.waitedNs(in: $0) == nil })
    #expect(ProcessorWatch.waitedNs(in: "2006114 40912 5\n") == 40_912)
  }

  #if os(Linux)
    @Test func theSystemTellsOfThisThread() throws {
      let before = try #require(ProcessorWatch.ofThisThread())
      #expect(try #require(ProcessorWatch.ofThisThread()) >= before && before >= 0)
    }
  #endif

  /// Calls that wait for a reply to go with are all sent: in flight are many at 4,000 calls a second, and mostly none at 50.
  @Test(arguments: [4_000, 50]) func aTesterThatSharesItsProcessorMakesTheCallsOfItsSchedule(_ rate: Int) async throws {
    try await Servers.withEcho { server in
      var plan = LoadPlan()
      plan.pace = .open(.constant(Double(rate)), .uniform)
      plan.durationMs = 2_000
      plan.threads = 2
      plan.connections = 2
      plan.concurrency = 400
      let threads = Int64(plan.threads)
      let looks = Atomic<Int64>(0)
      let run = try LoadRun(
        plan, requests: RequestSet(Array(#"{"delayMs":3}"#.utf8)),
        target: LoadTarget(face: .rpc(server), method: "campanile.rpc.v1.EchoService/Echo"),
        // At each look of either thread it has waited for 200 ms more.
        waitedNs: { looks.add(1, ordering: .relaxed).oldValue / threads * 200_000_000 })
      let report = try await run.run()
      #expect(report.errors == 0 && report.calls + report.droppedCount + report.unfinishedCount == 2 * rate)
      #expect(report.processorWaitShare ?? 0 > ProcessorWatch.sharedShare)
      #expect(report.warnings.contains { $0.contains("for a processor that others use") })
    }
  }
}
