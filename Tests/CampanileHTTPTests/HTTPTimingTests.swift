import CampanileHTTP
import NIOCore
import Testing

/// Timeouts of connections, without a clock.
@Suite struct HTTPTimingTests {
  @Test func slowConnectionsAreDetected() {
    let timeouts = HTTPTimeouts(
      headTimeoutMs: 100, bodyTimeoutMs: 200, idleTimeoutMs: 300, unreadTimeoutMs: 50)
    let start = NIODeadline.now()
    var timing = HTTPTiming(now: start)
    #expect(timing.check(timeouts, now: start + .milliseconds(300)) == .fine)
    #expect(timing.check(timeouts, now: start + .milliseconds(301)) == .close)
    timing.enter(.head, now: start)
    timing.enter(.head, now: start + .milliseconds(90))
    #expect(timing.check(timeouts, now: start + .milliseconds(101)) == .tooSlow)
    timing.enter(.body, now: start)
    #expect(timing.check(timeouts, now: start + .milliseconds(200)) == .fine)
    #expect(timing.check(timeouts, now: start + .milliseconds(201)) == .tooSlow)
    timing.enter(.answering, now: start)
    #expect(timing.check(timeouts, now: start + .hours(1)) == .fine)
    timing.writable(false, now: start)
    #expect(timing.check(timeouts, now: start + .milliseconds(51)) == .close)
    timing.writable(true, now: start)
    #expect(timing.check(timeouts, now: start + .hours(1)) == .fine)
  }

  @Test func slowReaderIsNotDisconnected() {
    let timeouts = HTTPTimeouts(unreadTimeoutMs: 50)
    let start = NIODeadline.now()
    var timing = HTTPTiming(now: start)
    timing.enter(.answering, now: start)
    timing.writable(false, now: start)
    timing.waits(bytes: 1000, now: start + .milliseconds(40))
    timing.waits(bytes: 900, now: start + .milliseconds(80))
    #expect(timing.check(timeouts, now: start + .milliseconds(130)) == .fine)
    // Nothing has been read in the meantime.
    timing.waits(bytes: 900, now: start + .milliseconds(120))
    #expect(timing.check(timeouts, now: start + .milliseconds(131)) == .close)
    timing.writable(true, now: start + .milliseconds(131))
    #expect(timing.check(timeouts, now: start + .hours(1)) == .fine)
  }

  @Test func everyPhaseHasTimeout() {
    let timeouts = HTTPTimeouts(headTimeoutMs: 1, bodyTimeoutMs: 20, answerTimeoutMs: 300, idleTimeoutMs: 4000)
    func at(_ ms: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .milliseconds(ms) }
    var state = HTTPExchangeState(now: at(0))
    #expect(state.timing.deadline(timeouts) == at(4000))
    #expect(state.timing.expired == .close)
    state.bytesArrived(now: at(10))
    #expect(state.timing.deadline(timeouts) == at(11))
    #expect(state.timing.expired == .tooSlow)
    // Further bytes do not extend the deadline.
    state.bytesArrived(now: at(11))
    #expect(state.timing.deadline(timeouts) == at(11))
    state.begin(keepsAlive: true, now: at(11))
    state.bytesArrived(now: at(15))
    #expect(state.timing.deadline(timeouts) == at(31))
    #expect(state.timing.expired == .tooSlow)
    let isTaken = state.requestEnded(streams: false)
    #expect(isTaken)
    state.timing.enter(.answering, now: at(20))
    #expect(state.timing.deadline(timeouts) == at(320))
    #expect(state.timing.expired == .close)
    let end = state.end(isWritable: true, now: at(100))
    #expect(end == .reuse)
    #expect(state.timing.deadline(timeouts) == at(4100))
  }
}
