import CampanileHTTP
import NIOCore
import Testing

/// The state of a connection, without I/O.
@Suite struct HTTPExchangeStateTests {
  private let now = NIODeadline.uptimeNanoseconds(0)

  /// A state with a request whose head has arrived.
  private func begun(keepsAlive: Bool = true) -> HTTPExchangeState {
    var state = HTTPExchangeState(now: now)
    state.bytesArrived(now: now)
    state.begin(keepsAlive: keepsAlive, now: now)
    return state
  }

  /// A state with a complete request.
  private func read(keepsAlive: Bool = true) -> HTTPExchangeState {
    var state = begun(keepsAlive: keepsAlive)
    _ = state.requestEnded(streams: false)
    return state
  }

  /// Checks the step at the end of the response.
  private func expectEnd(_ state: HTTPExchangeState, _ end: HTTPExchangeState.End, isWritable: Bool = true) {
    var state = state
    let found = state.end(isWritable: isWritable, now: now)
    #expect(found == end)
    #expect(state.isOpen == (end == .wait))
    #expect(state.isClosing == (end == .close))
    #expect(state.isEndWaiting == (end == .wait))
  }

  // MARK: the request

  @Test func phasesFollowTheRequest() {
    var state = HTTPExchangeState(now: now)
    #expect(state.timing.phase == .idle)
    state.bytesArrived(now: now)
    #expect(state.timing.phase == .head)
    state.begin(keepsAlive: true, now: now)
    #expect(state.timing.phase == .body)
    #expect(state.number == 1)
    #expect(!state.isAnswering)
    let isTaken = state.requestEnded(streams: false)
    #expect(isTaken)
    #expect(state.isAnswering)
    _ = state.end(isWritable: true, now: now)
    #expect(state.timing.phase == .idle)
    state.begin(keepsAlive: true, now: now)
    #expect(state.number == 2)
    #expect(!state.isRead)
  }

  @Test func requestEndsOnce() {
    var state = read()
    let isTakenAgain = state.requestEnded(streams: false)
    #expect(!isTakenAgain)
    var none = HTTPExchangeState(now: now)
    let isTakenWithoutRequest = none.requestEnded(streams: false)
    #expect(!isTakenWithoutRequest)
  }

  @Test func bodyBehindTheResponseIsOnlyReadByStreams() {
    var state = begun()
    #expect(state.reads(streams: false))
    _ = state.sendHead()
    #expect(!state.reads(streams: false))
    #expect(state.reads(streams: true))
  }

  // MARK: the response

  @Test func headIsSentOnce() {
    var state = read()
    let isFirst = state.sendHead()
    let isSecond = state.sendHead()
    #expect(isFirst && !isSecond)
    var closing = read()
    closing.close()
    let isSentWhileClosing = closing.sendHead()
    #expect(!isSentWhileClosing)
    var none = HTTPExchangeState(now: now)
    let isSentWithoutRequest = none.sendHead()
    #expect(!isSentWithoutRequest)
  }

  @Test func completeExchangeKeepsTheConnection() { expectEnd(read(), .reuse) }

  @Test func connectionClosesWhenThePeerAsksForIt() { expectEnd(read(keepsAlive: false), .close) }

  @Test func responseBeforeTheEndOfTheRequestCloses() {
    #expect(begun().closesAfterResponse)
    expectEnd(begun(), .close)
  }

  @Test func shutdownClosesAfterTheResponse() {
    var state = read()
    state.quiesce()
    #expect(state.isQuiescing)
    expectEnd(state, .close)
  }

  @Test func endWaitsForThePeerToRead() {
    var state = read()
    let first = state.end(isWritable: false, now: now)
    #expect(first == .wait)
    #expect(state.isAnswering)
    expectEnd(state, .reuse)
    // No request follows on a connection that closes, so its response need not wait.
    expectEnd(read(keepsAlive: false), .close, isWritable: false)
  }

  @Test func abandonedExchangeSendsNothing() {
    var state = read()
    _ = state.end(isWritable: false, now: now)
    state.abandon()
    #expect(!state.isOpen && !state.isAnswering && !state.isEndWaiting)
    let isSent = state.sendHead()
    #expect(!isSent)
  }

  @Test func restIsTakenOnce() {
    var state = read()
    state.rest(until: now + .seconds(1))
    let rests = [state.takeRest(), state.takeRest()]
    #expect(rests == [now + .seconds(1), nil])
  }

  // MARK: faults

  @Test func inputThatIsNotHTTPIsRefused() {
    var state = HTTPExchangeState(now: now)
    #expect(state.parserFault == .refuseUnread)
    state.begin(keepsAlive: true, now: now)
    #expect(state.parserFault == .refuse)
    _ = state.sendHead()
    #expect(state.parserFault == .close)
  }

  @Test func inputBehindTheLastRequestIsIgnored() {
    var state = read(keepsAlive: false)
    #expect(state.parserFault == .ignore)
    _ = state.end(isWritable: true, now: now)
    #expect(state.parserFault == .ignore)
  }

  @Test func timeoutsDependOnThePhase() {
    let timeouts = HTTPTimeouts(headTimeoutMs: 10, bodyTimeoutMs: 20, answerTimeoutMs: 30, idleTimeoutMs: 40)
    func fault(_ state: HTTPExchangeState, _ ms: Int64) -> HTTPExchangeState.Fault {
      state.timeoutFault(timeouts, now: now + .milliseconds(ms))
    }
    var state = HTTPExchangeState(now: now)
    #expect(fault(state, 40) == .ignore)
    #expect(fault(state, 41) == .close)
    state.bytesArrived(now: now)
    #expect(fault(state, 11) == .refuseUnread)
    state.begin(keepsAlive: true, now: now)
    #expect(fault(state, 20) == .ignore)
    #expect(fault(state, 21) == .refuse)
    state.timing.limitBody(toMs: 5)
    #expect(fault(state, 6) == .refuse)
    state.timing.enter(.answering, now: now)
    #expect(fault(state, 31) == .close)
    state.close()
    #expect(fault(state, 31) == .ignore)
  }
}
