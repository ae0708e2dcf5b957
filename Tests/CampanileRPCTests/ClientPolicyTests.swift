import CampanileBase
import NIOCore
import Testing

@testable import CampanileRPC

@Suite struct ClientPolicyTests {
  // MARK: - backoff

  @Test func connectionAttemptsBackOff() {
    var attempts = FailedAttempts(Backoff())
    let waits = (0..<14).map { _ in attempts.failed(random: 0.5) }
    #expect(Array(waits.prefix(4)) == [1_000, 1_600, 2_560, 4_096])
    #expect(waits.last == 120_000)
    attempts.reset()
    #expect(attempts.failed(random: 0.5) == 1_000)
    var none = FailedAttempts(Backoff(initialDelay: .milliseconds(-5), multiplier: 0))
    #expect(none.failed(random: 0.5) == 1)
  }

  // MARK: - retries

  private func delay(
    _ error: RPCError, attempt: Int = 1, allowsRetry: Bool = false, remainingMs: Int64? = 30_000,
    budget: inout RetryBudget, attemptsMax: Int? = nil
  ) -> Int64? {
    RetryPolicy().delayMs(
      after: error, attempt: attempt, attemptsMax: attemptsMax, allowsRetry: allowsRetry, remainingMs: remainingMs,
      budget: &budget, random: 0.5)
  }

  private func unavailable(processed: Bool, retryAfterMs: Int64? = nil) -> RPCError {
    RPCError(.unavailable, "down", retryAfterMs: retryAfterMs, processed: processed)
  }

  @Test func unseenCallsAreRetriedAtMostThreeTimes() {
    var budget = RetryBudget(RetryPolicy())
    let error = unavailable(processed: false)
    #expect((1...5).map { delay(error, attempt: $0, budget: &budget) } == [0, 100, 200, nil, nil])
    #expect(budget.tokens == 10)
  }

  @Test func seenCallsAreRetriedOnlyIfIdempotent() {
    var budget = RetryBudget(RetryPolicy())
    #expect(delay(unavailable(processed: true), budget: &budget) == nil)
    #expect(delay(unavailable(processed: true), allowsRetry: true, budget: &budget) == 50)
    #expect(delay(unavailable(processed: true), attempt: 2, allowsRetry: true, budget: &budget) == 100)
  }

  @Test func onlyUnavailableIsRetried() {
    var budget = RetryBudget(RetryPolicy())
    for number in 1...16 where number != 14 {
      let error = RPCError(RPCError.Code(rawValue: number) ?? .unknown, "", processed: false)
      #expect(delay(error, allowsRetry: true, budget: &budget) == nil)
    }
  }

  @Test func budgetLimitsRetriesAndSuccessesRefillIt() {
    var budget = RetryBudget(RetryPolicy())
    let error = unavailable(processed: true)
    let answers = (0..<8).map { _ in delay(error, allowsRetry: true, budget: &budget) != nil }
    #expect(answers == [true, true, true, true, false, false, false, false])
    for _ in 0..<50 { budget.succeeded() }
    #expect(budget.allowsRetry)
    for _ in 0..<1000 { budget.succeeded() }
    #expect(budget.tokens == 10)
  }

  @Test func retriesNeverExceedDeadline() {
    var budget = RetryBudget(RetryPolicy())
    #expect(delay(unavailable(processed: false, retryAfterMs: 500), remainingMs: 500, budget: &budget) == nil)
    #expect(delay(unavailable(processed: false, retryAfterMs: 500), remainingMs: 501, budget: &budget) == 500)
    #expect(delay(unavailable(processed: false), remainingMs: nil, budget: &budget) == 0)
  }

  @Test func callOptionsLimitAttempts() {
    var budget = RetryBudget(RetryPolicy())
    #expect(delay(unavailable(processed: false), budget: &budget, attemptsMax: 1) == nil)
    #expect(delay(unavailable(processed: false), attempt: 9, budget: &budget, attemptsMax: 999) != nil)
    #expect(delay(unavailable(processed: false), attempt: 10, budget: &budget, attemptsMax: 999) == nil)
  }

  @Test func localFailuresAreNotRetried() {
    var budget = RetryBudget(RetryPolicy())
    #expect(delay(LocalFailure.closed(processed: false), budget: &budget) == nil)
  }

  // MARK: - keepalive and cancels

  @Test func keepAlivePingsSilentConnectionsWithCalls() {
    let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    func at(_ seconds: Int64) -> NIODeadline { start + .seconds(seconds) }
    var keepAlive = KeepAlive(KeepAlivePolicy(), now: start)
    #expect(keepAlive.check(now: at(5), hasCalls: true) == .wait(until: at(20)))
    #expect(keepAlive.check(now: at(20), hasCalls: false) == .wait(until: at(40)))
    #expect(keepAlive.check(now: at(40), hasCalls: true) == .ping(until: at(50)))
    #expect(keepAlive.check(now: at(45), hasCalls: true) == .wait(until: at(50)))
    keepAlive.received(now: at(46))
    #expect(keepAlive.check(now: at(50), hasCalls: true) == .wait(until: at(66)))
    #expect(keepAlive.check(now: at(66), hasCalls: true) == .ping(until: at(76)))
    #expect(keepAlive.check(now: at(76), hasCalls: true) == .dead)
  }

  @Test func cancelsBeyondTheBudgetWaitForTheNextWindow() {
    let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
    var server = ServerHello()
    server.controlFramesMax = 4
    server.floodWindowMs = 20_000
    var budget = CancelBudget(server, now: start)
    #expect((1...5).map { budget.admit($0, now: start) } == [true, true, true, false, false])
    #expect(budget.due(now: start + .seconds(19)) == [])
    #expect(budget.due(now: start + .seconds(20)) == [4, 5])
    #expect(budget.admit(6, now: start + .seconds(21)) == true)
    #expect(budget.admit(7, now: start + .seconds(21)) == false)
  }

  // MARK: - ids

  @Test func idsIncreaseAndSkipOccupiedSlots() {
    var table = CallTable<String>()
    let long = table.insert("long", sendCredit: .zero, receiveCredit: .zero)
    #expect(long == 1)
    var last = long
    for turn in 0..<500 {
      let id = table.insert("call \(turn)", sendCredit: .zero, receiveCredit: .zero)
      #expect(id > last)
      last = id
      #expect(table.remove(id) == "call \(turn)")
      #expect(table.remove(id) == nil)
    }
    #expect(table.remove(65) == nil)
    #expect(table.remove(long) == "long")
    #expect(table.count == 0)
  }

  @Test func manyOpenCallsAreAllFound() {
    var table = CallTable<Int>()
    let ids = (0..<5_000).map { table.insert($0, sendCredit: .zero, receiveCredit: .zero) }
    #expect(table.all.map(\.id) == ids)
    for (index, id) in ids.enumerated().reversed() { #expect(table.remove(id) == index) }
    #expect(table.count == 0)
  }
}
