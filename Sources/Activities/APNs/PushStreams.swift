/// The requests on one connection: which stream carries which, how many may be open, and what an event of the connection means
/// for them. Pure: it does no I/O, and time is handed in.
struct PushStreams: Sendable {
  struct Limits: Sendable, Hashable {
    /// Streams that are used of those that the peer allows. The cost of a push grows with their number: several connections
    /// with some streams each take more than one with many.
    var streamsMax = 128
    /// How long an answer may take.
    var answerTimeoutMs: Int64 = 10_000
    /// Requests after which a connection is replaced: stream ids are finite (RFC 9113 section 5.1.1).
    var requestsMax = 500_000_000
    /// Answers in a row that did not come in time, after which the connection counts as dead.
    var timeoutsMax = 8

    init() {}
  }

  /// Why a stream ended, as the caller sees it.
  struct Ended: Sendable, Hashable {
    var request: PushRequest
    var outcome: PushOutcome
  }

  private struct Stream {
    var request: PushRequest
    var deadlineMs: Int64
    var answer = PushAnswer(status: 0)
  }

  /// What RFC 9113 section 6.5.2 asks to be assumed, and what APNs begins with, is little: until the peer has said what it
  /// allows, nothing is sent.
  private static let streamsBeforeSettings = 0

  private let limits: Limits
  private var streams: [Int: Stream] = [:]
  /// The order of the deadlines is that of the stream ids, for all have the same time.
  private var oldestID = 1
  private var nextID = 1
  private var allowedStreams = Self.streamsBeforeSettings
  private var timeoutsInRow = 0
  private(set) var isDraining = false

  init(limits: Limits = Limits()) { self.limits = limits }

  var openCount: Int { streams.count }
  /// Requests that may be opened now.
  var freeCount: Int { isDraining ? 0 : max(0, allowedStreams - streams.count) }
  /// Streams that may be open at once.
  var streamsMax: Int { isDraining ? 0 : allowedStreams }
  /// Nothing more will be opened and nothing is open.
  var isDone: Bool { isDraining && streams.isEmpty }
  /// Whether the peer has stopped answering.
  var isUnresponsive: Bool { timeoutsInRow >= limits.timeoutsMax }

  /// The peer allows so many streams; nil: it sets no limit.
  mutating func settings(streamsMax: Int?) {
    allowedStreams = min(max(0, streamsMax ?? limits.streamsMax), limits.streamsMax)
  }

  /// Gives a request the next stream id; nil when none may be opened.
  mutating func open(_ request: PushRequest, nowMs: Int64) -> Int? {
    guard freeCount > 0 else { return nil }
    let id = nextID
    nextID += 2
    if nextID / 2 >= limits.requestsMax { isDraining = true }
    streams[id] = Stream(request: request, deadlineMs: nowMs + limits.answerTimeoutMs)
    return id
  }

  /// The head of an answer. Informational ones (1xx) are passed over.
  mutating func headers(
    _ id: Int, status: Int, retryAfterMs: Int64?, channelID: String?, isEnd: Bool
  ) -> Ended? {
    guard var stream = streams[id] else { return nil }
    // A second head is that of trailers, which say nothing here.
    if stream.answer.status == 0, !(100..<200).contains(status) {
      stream.answer.status = status
      stream.answer.retryAfterMs = retryAfterMs
      stream.answer.channelID = channelID
    }
    guard isEnd else {
      streams[id] = stream
      return nil
    }
    return finish(id, stream)
  }

  /// A part of an answer's body. What is beyond the limit is dropped.
  mutating func data(_ id: Int, _ bytes: some Sequence<UInt8>, isEnd: Bool) -> Ended? {
    guard var stream = streams[id] else { return nil }
    streams[id] = nil
    let room = PushAnswer.bodyBytesMax - stream.answer.body.count
    stream.answer.body.append(contentsOf: bytes.prefix(max(0, room)))
    guard isEnd else {
      streams[id] = stream
      return nil
    }
    return finish(id, stream)
  }

  /// The stream was ended by an error of either side. Only REFUSED_STREAM says that nothing was processed
  /// (RFC 9113 section 8.7).
  mutating func closed(_ id: Int, isRefused: Bool, why: String) -> Ended? {
    guard let stream = streams.removeValue(forKey: id) else { return nil }
    return Ended(request: stream.request, outcome: isRefused ? .unprocessed(why) : .lost(why))
  }

  /// The peer takes no more streams and has processed none above `lastID` (RFC 9113 section 6.8).
  mutating func goAway(lastID: Int, why: String) -> [Ended] {
    isDraining = true
    let ids = streams.keys.filter { $0 > lastID }.sorted()
    return ids.compactMap { closed($0, isRefused: true, why: why) }
  }

  /// The connection is gone, and with it every answer.
  mutating func connectionLost(why: String) -> [Ended] {
    isDraining = true
    let ids = streams.keys.sorted()
    return ids.compactMap { id in
      guard let stream = streams.removeValue(forKey: id) else { return nil }
      return Ended(request: stream.request, outcome: .lost(why))
    }
  }

  /// Takes no further requests.
  mutating func drain() { isDraining = true }

  /// The streams whose answer did not come in time; they are to be reset.
  mutating func expire(nowMs: Int64) -> [(id: Int, ended: Ended)] {
    var expired: [(id: Int, ended: Ended)] = []
    while oldestID < nextID {
      if let stream = streams[oldestID] {
        guard stream.deadlineMs <= nowMs else { break }
        streams[oldestID] = nil
        timeoutsInRow += 1
        expired.append((oldestID, Ended(request: stream.request, outcome: .lost("no answer in time"))))
      }
      oldestID += 2
    }
    return expired
  }

  private mutating func finish(_ id: Int, _ stream: Stream) -> Ended {
    streams[id] = nil
    var answer = stream.answer
    guard answer.status != 0 else {
      return Ended(request: stream.request, outcome: .lost("an answer without a status"))
    }
    timeoutsInRow = 0
    answer.readReason()
    return Ended(request: stream.request, outcome: .answered(answer))
  }
}
