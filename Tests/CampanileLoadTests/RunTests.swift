import CampanileRPC
import Foundation
import Synchronization
import Testing

@testable import CampanileLoad

/// Complete runs against servers on real sockets.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RunTests {
  private func report(
    _ configuration: ClientConfiguration, method: String = "Echo", _ request: String = #"{"payload":"x"}"#,
    clientStreaming: Bool = false, serverStreaming: Bool = false, _ change: (inout LoadPlan) -> Void
  ) async throws -> LoadReport {
    var plan = LoadPlan()
    plan.concurrency = 8
    change(&plan)
    let target = LoadTarget(
      transport: .rpc(configuration), method: "campanile.rpc.v1.EchoService/\(method)",
      clientStreaming: clientStreaming,
      serverStreaming: serverStreaming)
    return try await LoadRun(plan, requests: RequestSet(Array(request.utf8)), target: target).run()
  }

  @Test func closedLoopMakesRequestedCalls() async throws {
    try await Servers.withEcho { server in
      let report = try await report(server) {
        $0.count = 1_001
        $0.connections = 3
        $0.threads = 2
      }
      #expect(report.calls == 1_001 && report.errors == 0 && report.statuses["OK"]?.calls == 1_001)
      #expect(report.uncorrectedLatency == nil && report.unfinishedCount == 0)
      #expect(report.latency.minMs > 0 && report.latency.maxMs >= report.latency.percentilesMs["99"] ?? .infinity)
    }
  }

  @Test func openLoopMakesScheduledCalls() async throws {
    try await Servers.withEcho { server in
      let report = try await report(server) {
        $0.pace = .open(.constant(500), .uniform)
        $0.durationMs = 2_000
        $0.warmupMs = 300
        $0.threads = 2
        $0.connections = 2
      }
      #expect(report.calls + report.droppedCount + report.unfinishedCount == 1_000)
      #expect(report.errors == 0 && report.uncorrectedLatency != nil)
    }
  }

  /// A server that stalls for a second delays every call of that second. Most of them are sent late, so their latency
  /// from the time of sending does not show the stall.
  @Test func stallShowsOnlyInCorrectedLatency() async throws {
    try await Servers.withHTTP({ _, body in
      if body.contains("\"n\":500}") { Thread.sleep(forTimeInterval: 1) }
      return HTTPAnswer()
    }) { port in
      var plan = LoadPlan()
      plan.pace = .open(.constant(400), .uniform)
      plan.durationMs = 3_000
      plan.concurrency = 2
      plan.connections = 2
      let report = try await LoadRun(
        plan, requests: RequestSet(Array(#"{"n":{{sequence}}}"#.utf8)),
        target: LoadTarget(transport: .http(HTTPTarget(host: "127.0.0.1", port: port)), method: "a.B/C")
      ).run()
      #expect(report.calls == 1_200)
      // A third of the calls were due during the stall; two were in flight.
      #expect(report.latency.percentilesMs["99"] ?? 0 > 800)
      #expect(report.latency.percentilesMs["75"] ?? 0 > 100)
      #expect(report.uncorrectedLatency?.percentilesMs["99"] ?? .infinity < 500)
      #expect(report.uncorrectedLatency?.maxMs ?? 0 > 900)
      #expect(report.lateCount > 300)
    }
  }

  @Test func failuresAreCountedByStatus() async throws {
    try await Servers.withEcho { server in
      let report = try await report(server, method: "Fail", #"{"code":5,"message":"gone"}"#) { $0.count = 50 }
      #expect(report.calls == 50 && report.errors == 50)
      #expect(report.statuses["NOT_FOUND"] == .init(calls: 50, message: "FAILED_AS_ASKED: gone"))
    }
  }

  @Test func unansweredCallsEndAtDeadline() async throws {
    try await Servers.withEcho { server in
      let report = try await report(server, #"{"delayMs":60000}"#) {
        $0.count = 8
        $0.timeoutMs = 200
      }
      #expect(report.statuses["DEADLINE_EXCEEDED"]?.calls == 8)
    }
  }

  @Test func unreachableServerEndsRunWithErrors() async throws {
    let report = try await report(ClientConfiguration(host: "127.0.0.1", port: 1)) {
      $0.durationMs = 500
      $0.timeoutMs = 100
    }
    #expect(report.errors == report.calls && report.calls > 0 && report.calls < 5_000)
  }

  @Test func stoppedRunReportsMeasurements() async throws {
    try await Servers.withEcho { server in
      var plan = LoadPlan()
      plan.durationMs = 60_000
      let target = LoadTarget(transport: .rpc(server), method: "campanile.rpc.v1.EchoService/Echo")
      let run = try LoadRun(plan, requests: RequestSet([]), target: target)
      let report = try await run.run { _ in run.stop() }
      #expect(report.wasInterrupted && report.calls > 0 && report.durationMs < 30_000)
    }
  }

  /// With a count, the measurement ends with the last call, not with the next poll.
  @Test func rateWithCountEndsWithLastCall() async throws {
    try await Servers.withEcho { server in
      var restMs = Double.infinity
      for _ in 0..<10 {
        let report = try await report(server, #"{"delayMs":20}"#) {
          $0.count = 8
          $0.concurrency = 8
        }
        #expect(abs(report.callsPerSecond * report.durationMs / 1_000 - 8) < 0.1)
        #expect(report.durationMs >= report.latency.maxMs * 0.99)
        restMs = min(restMs, report.durationMs - report.latency.maxMs)
      }
      // All calls are sent at the same time. At least one of ten runs is not delayed by other work on the machine.
      #expect(restMs < 20)
    }
  }

  /// Calls that finish after the measurement count towards the latency but not towards the rate.
  @Test func reportedRateCountsOnlyCallsCompletedInWindow() async throws {
    try await Servers.withEcho { server in
      let report = try await report(server, #"{"delayMs":400}"#) {
        $0.pace = .open(.constant(100), .uniform)
        $0.concurrency = 100
        $0.durationMs = 500
      }
      #expect(report.calls + report.droppedCount == 50 && report.calls > 25)
      let inTime = report.callsPerSecond * report.durationMs / 1_000
      #expect(inTime <= 11)
      #expect(abs(report.seconds.reduce(0) { $0 + $1.callsPerSecond } * report.durationMs / 1_000 - inTime) < 2)
    }
  }

  @Test(arguments: [("--messages", StreamPlan(messages: 5)), ("--message-rate", StreamPlan(messagesPerSecond: 5))])
  func messageOptionsNeedStreams(_ field: String, _ stream: StreamPlan) {
    var plan = LoadPlan()
    plan.stream = stream
    let target = LoadTarget(transport: .rpc(ClientConfiguration(host: "127.0.0.1", port: 1)), method: "a.B/C")
    #expect { try LoadRun(plan, requests: RequestSet([]), target: target) } throws: {
      ($0 as? LoadError)?.field == field
    }
  }

  @Test func serverStreamsAreCounted() async throws {
    try await Servers.withEcho { server in
      let whole = try await report(server, method: "Expand", #"{"count":100}"#, serverStreaming: true) { $0.count = 20 }
      #expect(whole.calls == 20 && whole.errors == 0 && whole.messagesReceived == 2_000 && whole.messagesSent == 20)
      let part = try await report(server, method: "Expand", #"{"count":1000000}"#, serverStreaming: true) {
        $0.count = 20
        $0.stream.messages = 50
      }
      #expect(part.calls == 20 && part.errors == 0 && part.messagesReceived == 1_000)
    }
  }

  @Test func endlessStreamsEndWithRun() async throws {
    try await Servers.withEcho { server in
      let report = try await report(
        server, method: "Expand", #"{"count":1000000,"intervalMs":10}"#, serverStreaming: true
      ) { $0.durationMs = 500 }
      #expect(report.calls == 8 && report.errors == 0 && report.messagesReceived > 8)
    }
  }

  @Test func clientStreamsRespectCredit() async throws {
    try await Servers.withEcho { server in
      let collected = try await report(server, method: "Collect", clientStreaming: true) {
        $0.count = 10
        $0.stream.messages = 500
      }
      #expect(collected.calls == 10 && collected.errors == 0 && collected.messagesSent == 5_000)
      let chat = try await report(server, method: "Chat", clientStreaming: true, serverStreaming: true) {
        $0.count = 10
        $0.stream = StreamPlan(messages: 20, messagesPerSecond: 200)
      }
      #expect(chat.calls == 10 && chat.messagesSent == 200 && chat.messagesReceived == 200)
    }
  }

  @Test func fieldOfPreviousReplyIsSent() async throws {
    try await Servers.withHTTP({ _, body in
      HTTPAnswer(status: body.contains("\"first\"") || body.contains("\"next\"") ? 200 : 400, body: #"{"id":"next"}"#)
    }) { port in
      let report = try await http(port, #"{"id":"{{reply /id else first}}"}"#) { $0.count = 40 }
      #expect(report.calls == 40 && report.errors == 0)
    }
  }

  private func http(
    _ port: Int, _ request: String = "{}", method: String = "a.B/C", token: String? = nil,
    _ change: (inout LoadPlan) -> Void
  ) async throws -> LoadReport {
    var plan = LoadPlan()
    plan.concurrency = 4
    change(&plan)
    plan.connections = plan.concurrency
    let target = HTTPTarget(host: "127.0.0.1", port: port, pathPrefix: "/api", token: token)
    return try await LoadRun(
      plan, requests: RequestSet(Array(request.utf8)), target: LoadTarget(transport: .http(target), method: method)
    ).run()
  }

  @Test func httpCallsUseConnectProtocol() async throws {
    let seen = Mutex<Set<String>>([])
    try await Servers.withHTTP({ path, body in
      _ = seen.withLock { $0.insert("\(path) \(body)") }
      return HTTPAnswer()
    }) { port in
      let report = try await http(port, #"{"a":1}"#, token: "cmp_x") { $0.count = 100 }
      #expect(report.calls == 100 && report.errors == 0)
      #expect(seen.withLock { $0 } == [#"POST /api/a.B/C Bearer cmp_x {"a":1}"#])
    }
  }

  @Test func invalidHeaderCharactersAreRejected() async throws {
    func refused(_ field: String, _ run: () async throws -> LoadReport) async {
      await #expect { try await run() } throws: { ($0 as? LoadError)?.field == field }
    }
    try await Servers.withHTTP({ _, _ in HTTPAnswer() }) { port in
      await refused("--header") { try await http(port, token: "a\r\nX-Y: z") { $0.count = 1 } }
      for method in ["a.B/C d", "a.B/C\r\nX-Y:z", "a.B/é"] {
        await refused("METHOD") { try await http(port, method: method) { $0.count = 1 } }
      }
    }
  }

  @Test func connectErrorsAreMappedToStatuses() async throws {
    try await Servers.withHTTP({ _, _ in
      HTTPAnswer(status: 404, body: #"{"code":"not_found","message":"gone"}"#, closes: true)
    }) { port in
      let report = try await http(port) { $0.count = 30 }
      #expect(report.statuses == ["NOT_FOUND": .init(calls: 30, message: "HTTP 404: gone")])
    }
    try await Servers.withHTTP({ _, _ in HTTPAnswer(status: 503, body: "<html>") }) { port in
      let report = try await http(port) { $0.count = 30 }
      #expect(report.statuses["UNAVAILABLE"]?.calls == 30)
    }
  }

  @Test func unansweredHTTPRequestsTimeOut() async throws {
    try await Servers.withHTTP({ _, _ in nil }) { port in
      let report = try await http(port) {
        $0.count = 4
        $0.timeoutMs = 100
      }
      #expect(report.statuses["DEADLINE_EXCEEDED"]?.calls == 4)
    }
  }

  @Test func plansOutOfRangeAreRejected() {
    let changes: [(String, (inout LoadPlan) -> Void)] = [
      ("--concurrency", { $0.concurrency = 0 }), ("--connections", { $0.connections = 65 }),
      ("--threads", { $0.threads = 2 }), ("--count", { $0.count = 0 }), ("--duration", { $0.durationMs = 0 }),
      ("--warm-up", { $0.warmupMs = -1 }), ("--timeout", { $0.timeoutMs = 0 }),
      ("--messages", { $0.stream.messages = 0 }), ("--message-rate", { $0.stream.messagesPerSecond = .nan }),
    ]
    for (field, change) in changes {
      var plan = LoadPlan()
      change(&plan)
      #expect { try plan.check() } throws: { ($0 as? LoadError)?.field == field }
    }
  }

  @Test(arguments: ["ftp://a", "https://", "https://a:0", "http://", "http://a:99999", "http://a:x", "http://a/b c"])
  func invalidAddressesAreRejected(_ url: String) {
    #expect { try HTTPTarget(url: url) } throws: { ($0 as? LoadError)?.field == "--http" }
  }

  @Test func addressesAreParsed() throws {
    #expect(try HTTPTarget(url: "http://127.0.0.1:7480").description == "http://127.0.0.1:7480")
    #expect(try HTTPTarget(url: "http://[::1]/p/").description == "http://[::1]:80/p")
  }
}
