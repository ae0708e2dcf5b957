import Testing

@testable import CampanileClient

/// The rules by which a watch resumes, without connections.
struct WatchMachineTests {
  private let lost = RPCError(.unavailable, "lost")
  private let tooOld = RPCError(.outOfRange, "too old", reason: "TOKEN_TOO_OLD")

  private func machine(_ token: String = "t0") -> WatchMachine {
    WatchMachine(
      token: token, backoff: Backoff(initialDelay: .milliseconds(100), multiplier: 2, jitter: 0, delayMax: .seconds(1)))
  }

  private func delays(_ machine: inout WatchMachine, _ error: RPCError?, count: Int, opens: Bool = false) -> [Int64] {
    (0..<count).map { _ in
      if opens { _ = machine.received(token: "", isChange: false, nowMs: 0) }
      guard case .connect(let delayMs) = machine.ended(error, isRenewal: false, nowMs: 1, random: 0.5) else {
        return -1
      }
      return delayMs
    }
  }

  @Test func delaysGrowUntilAChangeArrives() {
    var machine = machine()
    #expect(delays(&machine, lost, count: 6) == [100, 200, 400, 800, 1_000, 1_000])
    _ = machine.received(token: "t1", isChange: true, nowMs: 0)
    #expect(delays(&machine, lost, count: 2) == [100, 200])
    #expect(machine.token == "t1")
  }

  @Test func serverThatEndsEachStreamAtOnceIsNotCalledInALoop() {
    var machine = machine()
    #expect(delays(&machine, nil, count: 3, opens: true) == [100, 200, 400])
  }

  @Test func longConnectionIsNoFailure() {
    var machine = machine()
    _ = delays(&machine, lost, count: 3)
    _ = machine.received(token: "t1", isChange: false, nowMs: 0)
    #expect(machine.ended(lost, isRenewal: false, nowMs: 10_000, random: 0.5) == .connect(afterMs: 100))
  }

  @Test func renewalReconnectsAtOnce() {
    var machine = machine()
    _ = delays(&machine, lost, count: 3)
    #expect(machine.ended(lost, isRenewal: true, nowMs: 0, random: 0.5) == .connect(afterMs: 0))
    #expect(delays(&machine, lost, count: 1) == [100])
  }

  @Test func gapIsReportedOnceTheNextConnectionIsOpen() {
    var machine = machine()
    #expect(machine.ended(tooOld, isRenewal: false, nowMs: 0, random: 0) == .connect(afterMs: 0))
    #expect(machine.token == "")
    #expect(delays(&machine, lost, count: 1) == [100])
    #expect(machine.received(token: "t9", isChange: false, nowMs: 0) == tooOld)
    #expect(machine.received(token: "t10", isChange: true, nowMs: 0) == nil)
    #expect(machine.token == "t10")
  }

  @Test func refusedPresentIsAnError() {
    var machine = machine("")
    #expect(machine.ended(tooOld, isRenewal: false, nowMs: 0, random: 0) == .fail(tooOld))
  }

  @Test func requestedDelayIsAMinimum() {
    var machine = machine()
    let busy = RPCError(.resourceExhausted, "busy", retryAfterMs: 5_000)
    #expect(delays(&machine, busy, count: 1) == [5_000])
  }

  @Test(arguments: [RPCError.Code.permissionDenied, .notFound, .invalidArgument, .unauthenticated, .unimplemented])
  func lastingErrorEndsTheWatch(code: RPCError.Code) {
    var machine = machine()
    let error = RPCError(code, "no")
    #expect(machine.ended(error, isRenewal: false, nowMs: 0, random: 0) == .fail(error))
  }
}
