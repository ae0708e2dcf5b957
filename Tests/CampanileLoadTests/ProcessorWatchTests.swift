import CampanileRPC
import Synchronization
import Testing

@testable import CampanileLoad

/// A load test on a shared processor reports it and wakes less often.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ProcessorWatchTests {
  /// A window of 500 ms: the thread's waiting and running times, and the processor's idle time.
  private struct Window {
    var waitMs: Int64 = 0
    var ranMs: Int64 = 100
    var idleMs: Int64? = 400
    var processor = 1
    var isTold = true
  }

  /// Returns a watch that was updated at the end of every window.
  private func watch(_ windows: [Window], measuredFromMs: Int64 = 0) -> ProcessorWatch {
    var times = ProcessorTimes(ranNs: 5, waitedNs: 77, processor: 1, idleNs: 30)
    var idleNs: Int64 = 30
    var watch = ProcessorWatch()
    let measuredFromNs = measuredFromMs * 1_000_000
    watch.look(times, nowNs: 0, measuredFromNs: measuredFromNs)
    for (index, window) in windows.enumerated() {
      times.ranNs += window.ranMs * 1_000_000
      times.waitedNs += window.waitMs * 1_000_000
      idleNs += (window.idleMs ?? 0) * 1_000_000
      times.idleNs = window.idleMs == nil ? nil : idleNs
      times.processor = window.processor
      let nowNs = Int64(index + 1) * ProcessorWatch.windowNs
      #expect(watch.isDue(nowNs: nowNs) && !watch.isDue(nowNs: nowNs - 1))
      watch.look(window.isTold ? times : nil, nowNs: nowNs, measuredFromNs: measuredFromNs)
    }
    return watch
  }

  private func waits(_ ms: [Int64], measuredFromMs: Int64 = 0) -> ProcessorWatch {
    watch(ms.map { Window(waitMs: $0) }, measuredFromMs: measuredFromMs)
  }

  @Test func sharesCoverMeasuredWindows() {
    #expect(waits([]).waitShare == nil)
    #expect(waits([400, 400], measuredFromMs: 1_000).waitShare == nil)
    #expect(waits([400, 400, 100, 200], measuredFromMs: 1_000).waitShare == 0.3)
    // The two clocks are read one after the other, so a wait may exceed the window.
    #expect(waits([501]).waitShare == 1)
    #expect(watch([Window(idleMs: 0), Window(idleMs: 200), Window(idleMs: 400)]).othersShare == 0.4)
    #expect(watch([Window(idleMs: 0), Window(idleMs: 300)], measuredFromMs: 500).othersShare == 0.2)
    #expect(watch([Window(ranMs: 500, idleMs: 20)]).othersShare == 0)
  }

  @Test func longWaitMarksProcessorAsShared() {
    #expect(!waits([0, 50, 50, 50]).isShared)
    #expect(waits([0, 51]).isShared)
    #expect(waits([400, 0, 0, 0]).isShared)
  }

  @Test func useByOthersMarksProcessorAsShared() {
    #expect(!watch([Window(), Window(idleMs: 275)]).isShared)
    #expect(watch([Window(), Window(idleMs: 274), Window()]).isShared)
    // If a thread has moved, it is unknown on which processor it ran.
    let moved = watch([Window(idleMs: 0, processor: 0), Window(idleMs: 0, processor: 1)])
    #expect(!moved.isShared && moved.othersShare == nil && moved.waitShare == 0)
    let stayed = watch([Window(idleMs: 0, processor: 0), Window(idleMs: 0, processor: 0), Window(processor: 1)])
    #expect(stayed.isShared && stayed.othersShare == 0.8)
  }

  @Test func missingTimesGiveUnknownShares() {
    let untold = watch([Window(waitMs: 400, isTold: false), Window(idleMs: 0, isTold: false)])
    #expect(untold.waitShare == nil && untold.othersShare == nil && !untold.isShared)
    let withoutIdle = watch([Window(waitMs: 5, idleMs: nil), Window(waitMs: 5, idleMs: nil)])
    #expect(withoutIdle.waitShare == 0.01 && withoutIdle.othersShare == nil && !withoutIdle.isShared)
  }

  @Test func procFilesAreParsed() {
    let machine = """
      cpu  10 0 20 3000 50 0 7 1 0 0
      cpu0 5 0 9 1000 20 0 3 0 0 0
      cpu1 5 0 11 2000 30 0 4 1 0 0
      intr 5 6
      """
    // The thread's name contains a space and a parenthesis.
    func stat(_ processor: String) -> String {
      "77 (NIO) ELT 1) S " + (4...38).map(String.init).joined(separator: " ") + " \(processor) 0 0\n"
    }
    let told = ProcessorTimes(schedstat: "2006114 40912 5\n", stat: stat("1"), machine: machine)
    #expect(told == ProcessorTimes(ranNs: 2_006_114, waitedNs: 40_912, processor: 1, idleNs: 20_300_000_000))
    for (processor, idle) in [("0", 10_200_000_000 as Int64?), ("2", nil)] {
      #expect(ProcessorTimes(schedstat: "1 2 3", stat: stat(processor), machine: machine)?.idleNs == idle)
    }
    #expect(ProcessorTimes(schedstat: "1 2 3", stat: stat("0"), machine: "intr 1\ncpu0 1 2 3 4 5\n")?.idleNs == nil)
    #expect(ProcessorTimes(schedstat: "1 2 3", stat: stat("0"), machine: "cpu0 1 2 3 4\n")?.idleNs == nil)
    for schedstat in ["", "1 2", "1 x 3", "1 2 3 4"] {
      #expect(ProcessorTimes(schedstat: schedstat, stat: stat("1"), machine: machine) == nil)
    }
    for stat in ["", "77 (a", "77 (a) S 1 2", stat("x")] {
      #expect(ProcessorTimes(schedstat: "1 2 3", stat: stat, machine: machine) == nil)
    }
  }

  #if os(Linux)
    @Test func threadTimesAreReadableFromAnotherThread() async throws {
      let reader = ProcessorTimes.ofThisThread()
      let before = try #require(reader())
      let later = try await Task.detached { try #require(reader()) }.value
      #expect(later.ranNs >= before.ranNs && later.waitedNs >= before.waitedNs && before.waitedNs >= 0)
      #expect(before.processor >= 0 && before.idleNs ?? -1 >= 0)
    }
  #endif

  /// Calls that wait for the next reply are all sent, with many calls in flight (4,000 per second) or mostly none (50).
  @Test(arguments: [4_000, 50]) func sharedProcessorKeepsSchedule(_ rate: Int) async throws {
    try await Servers.withEcho { server in
      var plan = LoadPlan()
      plan.pace = .open(.constant(Double(rate)), .uniform)
      plan.durationMs = 2_000
      plan.threads = 2
      plan.connections = 2
      plan.concurrency = 400
      let run = try LoadRun(
        plan, requests: RequestSet(Array(#"{"delayMs":3}"#.utf8)),
        target: LoadTarget(transport: .rpc(server), method: "campanile.rpc.v1.EchoService/Echo"),
        // Each reading adds 200 ms of waiting, on a processor that is never idle.
        processorTimes: {
          let looks = Atomic<Int64>(0)
          return {
            let waitedNs = looks.add(1, ordering: .relaxed).oldValue * 200_000_000
            return ProcessorTimes(ranNs: 0, waitedNs: waitedNs, processor: 0, idleNs: 0)
          }
        })
      let report = try await run.run()
      #expect(report.errors == 0 && report.calls + report.droppedCount + report.unfinishedCount == 2 * rate)
      #expect(report.processorWaitShare ?? 0 > ProcessorWatch.sharedWaitShare)
      #expect(report.processorOthersShare == 1)
      #expect(report.warnings.contains { $0.contains("for a processor that others use") })
      #expect(report.warnings.contains { $0.contains("others used 100 % of the time") })
    }
  }
}
