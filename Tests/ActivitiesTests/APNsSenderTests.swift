import APNs
import CampanileBase
import Foundation
import NIOHTTP2
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import Activities

/// The sender against a real HTTP/2 server over TLS.
@Suite(.serialized) struct APNsSenderTests {
  /// A sender and the outcomes of its requests.
  private final class Bench: Sendable {
    let sender: APNsSender
    let route: PushRoute
    private let signal: WakeSignal
    private let outcomes = Mutex<[UInt64: PushOutcome]>([:])

    init(_ server: APNsServer, configure: (inout APNsSender.Configuration) -> Void = { _ in }) throws {
      var configuration = APNsSender.Configuration()
      configuration.trustFile = server.certificatePath
      configuration.pool.tickMs = 20
      configuration.pool.breaker.pause.initialDelay = .milliseconds(50)
      configure(&configuration)
      let start = ContinuousClock.now
      signal = WakeSignal()
      sender = try APNsSender(
        configuration, group: MultiThreadedEventLoopGroup.singleton,
        environment: SenderEnvironment(
          nowMs: { Int64((ContinuousClock.now - start) / .milliseconds(1)) }, random: { 0.5 }, log: { _ in }),
        signal: signal)
      route = PushRoute(host: APNsHost(name: "localhost", port: server.port), teamID: "T", keyID: "K")
    }

    func request(_ ticket: UInt64, _ payload: String = "{}") -> PushRequest {
      var request = PushRequest(
        ticket: ticket, path: "/3/device/abcd", authorization: "bearer token", id: "id-\(ticket)",
        payload: Array(payload.utf8))
      request.topic = "com.example.app"
      request.pushType = "alert"
      request.priority = 5
      request.expiration = 0
      request.collapseID = "c"
      return request
    }

    /// Sends requests and returns their outcomes in ticket order.
    func send(_ tickets: ClosedRange<UInt64>, payload: String = "{}") async throws -> [PushOutcome] {
      sender.submit(tickets.map { request($0, payload) }, to: route)
      return try await wait(tickets)
    }

    func wait(_ tickets: ClosedRange<UInt64>) async throws -> [PushOutcome] {
      while true {
        for result in sender.takeResults() { outcomes.withLock { $0[result.ticket] = result.outcome } }
        let found = outcomes.withLock { outcomes in tickets.compactMap { outcomes[$0] } }
        if found.count == tickets.count { return found }
        try await signal.wait()
      }
    }
  }

  private func withServer(
    streamsMax: Int = 100, configure: (inout APNsSender.Configuration) -> Void = { _ in },
    _ body: (APNsServer, Bench) async throws -> Void
  ) async throws {
    let folder = NSTemporaryDirectory() + "campanile-apns-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let server = try await APNsServer.start(folder: folder, streamsMax: streamsMax)
    let bench = try Bench(server, configure: configure)
    do {
      try await body(server, bench)
    } catch {
      Issue.record(error)
    }
    bench.sender.shutDown()
    await server.stop()
    try FileManager.default.removeItem(atPath: folder)
  }

  private func isAccepted(_ outcome: PushOutcome) -> Bool { outcome == .answered(PushAnswer(status: 200)) }

  @Test(.timeLimit(.minutes(1))) func headersAndBodyArriveUnchanged() async throws {
    try await withServer { server, bench in
      let payload = #"{"aps":{"alert":"\#(String(repeating: "é", count: 2_000))"}}"#
      #expect(try await bench.send(1...1, payload: payload).allSatisfy(isAccepted))
      let seen = try #require(server.seen.first)
      #expect(seen.body == payload)
      #expect(
        seen.headers == [
          ":method": "POST", ":scheme": "https", ":path": "/3/device/abcd", ":authority": "localhost:\(server.port)",
          "authorization": "bearer token", "apns-topic": "com.example.app", "apns-push-type": "alert",
          "apns-priority": "5", "apns-id": "id-1", "apns-expiration": "0", "apns-collapse-id": "c",
        ])
    }
  }

  @Test(.timeLimit(.minutes(1))) func manyPushesShareConnections() async throws {
    try await withServer(streamsMax: 20) { server, bench in
      let outcomes = try await bench.send(1...2_000)
      #expect(outcomes.allSatisfy(isAccepted))
      #expect(Set(server.seen.compactMap { $0.headers["apns-id"] }).count == 2_000)
      #expect(server.seen.count == 2_000)
      #expect((1...8).contains(server.connectionCount))
    }
  }

  @Test(.timeLimit(.minutes(1))) func refusalsIncludeReasonAndTimestamp() async throws {
    try await withServer { server, bench in
      server.script { _ in .answer(410, #"{"reason":"Unregistered","timestamp":1700000000123}"#) }
      guard case .answered(let answer) = try await bench.send(1...1)[0] else {
        Issue.record("no answer")
        return
      }
      #expect(answer.status == 410)
      #expect(answer.reason == "Unregistered")
      #expect(answer.timestampMs == 1_700_000_000_123)
    }
  }

  @Test(.timeLimit(.minutes(1))) func goAwayEveryHundredPushesLosesNoPush() async throws {
    try await withServer { server, bench in
      let count = Mutex(0)
      server.script { _ in
        let number = count.withLock { count in
          count += 1
          return count
        }
        return number % 100 == 0 ? .answerAndGoAway(200) : .answer(200, "")
      }
      // Some requests find no connection that accepts them and return as not processed.
      var rest = Array(UInt64(1)...1_000)
      for _ in 0..<50 where !rest.isEmpty {
        bench.sender.submit(rest.map { bench.request($0) }, to: bench.route)
        var open = Set(rest)
        rest = []
        while !open.isEmpty {
          for result in bench.sender.takeResults() {
            open.remove(result.ticket)
            if case .unprocessed = result.outcome { rest.append(result.ticket) }
            if case .lost(let why) = result.outcome { Issue.record("lost: \(why)") }
          }
          if !open.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        }
      }
      #expect(rest.isEmpty)
      #expect(Set(server.seen.compactMap { $0.headers["apns-id"] }).count == 1_000)
      #expect(server.connectionCount >= 10)
    }
  }

  @Test(.timeLimit(.minutes(1))) func resetsReportWhetherTheRequestWasProcessed() async throws {
    try await withServer { server, bench in
      server.script { $0.headers["apns-id"] == "id-1" ? .reset(.internalError) : .reset(.refusedStream) }
      guard case .lost = try await bench.send(1...1)[0] else {
        Issue.record("the reset stream did not count as lost")
        return
      }
      guard case .unprocessed = try await bench.send(2...2)[0] else {
        Issue.record("the refused stream counted as processed")
        return
      }
      // The refused request was tried once and moved as often as the limit allows.
      #expect(server.seen.count == 1 + 1 + 3)
    }
  }

  @Test(.timeLimit(.minutes(1))) func brokenConnectionLosesOnlyItsOwnRequests() async throws {
    try await withServer { server, bench in
      server.script { $0.headers["apns-id"] == "id-1" ? .closeConnection : .answer(200, "") }
      guard case .lost = try await bench.send(1...1)[0] else {
        Issue.record("not lost")
        return
      }
      #expect(try await bench.send(2...5).allSatisfy(isAccepted))
    }
  }

  @Test(.timeLimit(.minutes(1))) func silentServerTimesOut() async throws {
    try await withServer(configure: { $0.pool.connection.streams.answerTimeoutMs = 100 }) { server, bench in
      server.script { _ in .silence }
      let outcomes = try await bench.send(1...2)
      #expect(outcomes == [.lost("no response in time"), .lost("no response in time")])
    }
  }

  @Test(.timeLimit(.minutes(1))) func routeReportsNoCapacityWhileTheServerIsDown() async throws {
    let folder = NSTemporaryDirectory() + "campanile-apns-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let port = fixedPort()
    let first = try await APNsServer.start(folder: folder, port: port)
    let bench = try Bench(first)
    await first.stop()
    guard case .unprocessed = try await bench.send(1...1)[0] else {
      Issue.record("not unprocessed")
      return
    }
    #expect(bench.sender.capacity(of: bench.route).free == 0)
    let second = try await APNsServer.start(folder: folder, port: port)
    while bench.sender.capacity(of: bench.route).free == 0 { try await Task.sleep(for: .milliseconds(10)) }
    #expect(try await bench.send(2...2).allSatisfy(isAccepted))
    bench.sender.shutDown()
    await second.stop()
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test(.timeLimit(.minutes(1))) func untrustedCertificateIsRejected() async throws {
    try await withServer(configure: { $0.trustFile = nil }) { server, bench in
      guard case .unprocessed = try await bench.send(1...1)[0] else {
        Issue.record("the push was sent to an untrusted server")
        return
      }
      #expect(server.seen.isEmpty)
    }
  }

  @Test(.timeLimit(.minutes(1))) func consecutiveFailuresOpenTheBreaker() async throws {
    try await withServer(configure: { $0.pool.breaker.pause.initialDelay = .seconds(60) }) { server, bench in
      server.script { _ in .answer(503, #"{"reason":"ServiceUnavailable"}"#) }
      _ = try await bench.send(1...5)
      #expect(bench.sender.capacity(of: bench.route).free == 0)
      #expect(bench.sender.capacity(of: bench.route).retryAtMs != nil)
      guard case .unprocessed = try await bench.send(6...6)[0] else {
        Issue.record("the push was sent although the breaker is open")
        return
      }
      #expect(server.seen.count == 5)
    }
  }
}
