import Testing

@testable import Activities

/// The effect of a connection's events on its requests, as transcripts without a socket.
@Suite struct APNsStreamsTests {
  private func request(_ ticket: UInt64) -> PushRequest {
    PushRequest(ticket: ticket, path: "/3/device/ab", authorization: "", id: "", payload: [])
  }

  private func ready(streamsMax: Int? = nil, limits: PushStreams.Limits = .init()) -> PushStreams {
    var streams = PushStreams(limits: limits)
    streams.settings(streamsMax: streamsMax)
    return streams
  }

  @Test func nothingIsSentBeforeTheFirstSettings() {
    var streams = PushStreams()
    #expect(streams.open(request(1), nowMs: 0) == nil)
    streams.settings(streamsMax: 1)
    #expect(streams.open(request(1), nowMs: 0) == 1)
    #expect(streams.open(request(2), nowMs: 0) == nil)
    streams.settings(streamsMax: 2)
    #expect(streams.open(request(2), nowMs: 0) == 3)
    // Fewer than are already open: no further stream until they end.
    streams.settings(streamsMax: 0)
    #expect(streams.freeCount == 0)
  }

  @Test func responsesAreReadAcrossFrames() {
    var streams = ready()
    for ticket in 1...3 { _ = streams.open(request(UInt64(ticket)), nowMs: 0) }
    #expect(streams.headers(1, status: 103, retryAfterMs: nil, channelID: nil, isEnd: false) == nil)
    let first = streams.headers(1, status: 200, retryAfterMs: nil, channelID: nil, isEnd: true)
    #expect(first?.outcome == .answered(PushAnswer(status: 200)))
    #expect(first?.request.ticket == 1)
    #expect(streams.headers(3, status: 410, retryAfterMs: 5_000, channelID: nil, isEnd: false) == nil)
    #expect(streams.data(3, Array(#"{"reason":"Unregi"#.utf8), isEnd: false) == nil)
    let body = #"stered","timestamp":1454948015990,"more":[{}]}"#
    let second = streams.data(3, Array(body.utf8), isEnd: true)
    guard case .answered(let answer) = second?.outcome else {
      Issue.record("no answer")
      return
    }
    #expect(answer.reason == "Unregistered")
    #expect(answer.timestampMs == 1_454_948_015_990)
    #expect(answer.retryAfterMs == 5_000)
    // Events of ended or unknown streams are ignored.
    #expect(streams.headers(1, status: 500, retryAfterMs: nil, channelID: nil, isEnd: true) == nil)
    #expect(streams.data(99, [1], isEnd: true) == nil)
    #expect(streams.closed(99, isRefused: true, why: "") == nil)
    #expect(streams.openCount == 1)
  }

  @Test(arguments: [
    "", "{", "[]", "null", #"{"reason":5}"#, #"{"reason":"a","timestamp":"x"}"#, "\u{FF}", #"{"reason":"BadTopic"}x"#,
  ])
  func invalidBodiesLeaveTheReasonEmpty(body: String) {
    var answer = PushAnswer(status: 400, body: Array(body.utf8))
    answer.readReason()
    #expect(answer.reason == "")
  }

  @Test func responseWithoutAStatusIsLost() {
    var streams = ready()
    _ = streams.open(request(1), nowMs: 0)
    #expect(streams.data(1, [], isEnd: true)?.outcome == .lost("a response without a status"))
  }

  @Test func goAwayReturnsUnprocessedStreams() {
    var streams = ready()
    for ticket in 1...4 { _ = streams.open(request(UInt64(ticket)), nowMs: 0) }
    let ended = streams.goAway(lastID: 3, why: "GOAWAY")
    #expect(ended.map(\.request.ticket) == [3, 4])
    #expect(ended.allSatisfy { $0.outcome == .unprocessed("GOAWAY") })
    #expect(streams.open(request(5), nowMs: 0) == nil)
    #expect(!streams.isDone)
    _ = streams.headers(1, status: 200, retryAfterMs: nil, channelID: nil, isEnd: true)
    #expect(streams.connectionLost(why: "gone").map(\.outcome) == [.lost("gone")])
    #expect(streams.isDone)
  }

  @Test func onlyRefusedStreamsCountAsUnprocessed() {
    var streams = ready()
    for ticket in 1...2 { _ = streams.open(request(UInt64(ticket)), nowMs: 0) }
    #expect(streams.closed(1, isRefused: true, why: "a")?.outcome == .unprocessed("a"))
    #expect(streams.closed(3, isRefused: false, why: "b")?.outcome == .lost("b"))
    #expect(streams.openCount == 0)
  }

  @Test func overdueRequestsExpire() {
    var limits = PushStreams.Limits()
    limits.timeoutsMax = 2
    var streams = ready(limits: limits)
    _ = streams.open(request(1), nowMs: 0)
    _ = streams.open(request(2), nowMs: 10)
    _ = streams.open(request(3), nowMs: 5_000)
    #expect(streams.expire(nowMs: 9_999).isEmpty)
    #expect(streams.expire(nowMs: 10_000).map(\.id) == [1])
    #expect(!streams.isUnresponsive)
    #expect(streams.expire(nowMs: 10_010).map(\.id) == [3])
    #expect(streams.isUnresponsive)
    _ = streams.headers(5, status: 200, retryAfterMs: nil, channelID: nil, isEnd: true)
    #expect(!streams.isUnresponsive)
    #expect(streams.expire(nowMs: 100_000).isEmpty)
  }

  @Test func connectionDrainsBeforeStreamIDsRunOut() {
    var limits = PushStreams.Limits()
    limits.requestsMax = 3
    var streams = ready(limits: limits)
    for ticket in 1...3 { #expect(streams.open(request(UInt64(ticket)), nowMs: 0) != nil) }
    #expect(streams.isDraining)
    #expect(streams.open(request(4), nowMs: 0) == nil)
  }

  @Test func responseBodiesAreBounded() {
    var streams = ready()
    _ = streams.open(request(1), nowMs: 0)
    _ = streams.headers(1, status: 200, retryAfterMs: nil, channelID: nil, isEnd: false)
    let part = [UInt8](repeating: 65, count: 100_000)
    for _ in 0..<20 { _ = streams.data(1, part, isEnd: false) }
    let ended = streams.data(1, part, isEnd: true)
    guard case .answered(let answer) = ended?.outcome else {
      Issue.record("no answer")
      return
    }
    #expect(answer.body.count == PushAnswer.bodyBytesMax)
  }
}
