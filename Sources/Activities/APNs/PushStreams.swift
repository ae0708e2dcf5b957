/// The state of the requests on one connection. Pure: it does no I/O, and callers pass the time.
///
/// It assigns requests to streams, limits the open streams, and maps the connection's events to outcomes.
struct PushStreams: Sendable {
  struct Limits: Sendable, Hashable {
    /// Maximum number of streams to use. The cost of a push grows with it: several connections with some streams each
    /// have a higher throughput than one with many.
    var streamsMax = 128
    /// Time limit for a response.
    var answerTimeoutMs: Int64 = 10_000
    /// Requests after which a connection is replaced, because stream ids are finite (RFC 9113 section 5.1.1).
    var requestsMax = 500_000_000
    /// Consecutive timeouts after which the connection counts as dead.
    var timeoutsMax = 8

    init() {}
  }

  /// A request whose stream ended, and its outcome.
  struct Ended: Sendable, Hashable {
    var request: PushRequest
    var outcome: PushOutcome
  }

  private struct Stream {
    var request: PushRequest
    var deadlineMs: Int64
    var answer = PushAnswer(status: 0)
  }

  /// Nothing is sent before the peer's SETTINGS: RFC 9113 section 6.5.2 sets no initial limit, but APNs starts with few
  /// streams.
  private static let streamsBeforeSettings = 0

  private let limits: Limits
  private var streams: [Int: Stream] = [:]
  /// Deadlines ascend with stream ids, because all requests have the same time limit.
  private var oldestID = 1
  private var nextID = 1
  private var allowedStreams = Self.streamsBeforeSettings
  private var timeoutsInRow = 0
  private(set) var isDraining = false

  init(limits: Limits = Limits()) { self.limits = limits }

  var openCount: Int { streams.count }
  /// Requests that may be opened now.
  var freeCount: Int { isDraining ? 0 : max(0, allowedStreams - streams.count) }
  /// Streams that may be open at the same time.
  var streamsMax: Int { isDraining ? 0 : allowedStreams }
  /// Whether nothing is open and nothing more will be opened.
  var isDone: Bool { isDraining && streams.isEmpty }
  /// Whether the peer has stopped responding.
  var isUnresponsive: Bool { timeoutsInRow >= limits.timeoutsMax }

  /// Applies the peer's stream limit; nil if it sets none.
  mutating func settings(streamsMax: Int?) {
    allowedStreams = min(max(0, streamsMax ?? limits.streamsMax), limits.streamsMax)
  }

  /// Assigns the next stream id to a request. Returns nil if no stream may be opened.
  mutating func open(_ request: PushRequest, nowMs: Int64) -> Int? {
    guard freeCount > 0 else { return nil }
    let id = nextID
    nextID += 2
    if nextID / 2 >= limits.requestsMax { isDraining = true }
    streams[id] = Stream(request: request, deadlineMs: nowMs + limits.answerTimeoutMs)
    return id
  }

  /// Handles the head of a response. Informational ones (1xx) are ignored.
  mutating func headers(
    _ id: Int, status: Int, retryAfterMs: Int64?, channelID: String?, isEnd: Bool
  ) -> Ended? {
    guard var stream = streams[id] else { return nil }
    // A second head contains trailers, which have no meaning here.
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

  /// Handles a part of a response body. Bytes beyond the limit are dropped.
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

  /// Handles a stream that ended with an error of either side. Only REFUSED_STREAM guarantees that nothing was
  /// processed (RFC 9113 section 8.7).
  mutating func closed(_ id: Int, isRefused: Bool, why: String) -> Ended? {
    guard let stream = streams.removeValue(forKey: id) else { return nil }
    return Ended(request: stream.request, outcome: isRefused ? .unprocessed(why) : .lost(why))
  }

  /// Handles GOAWAY: the peer accepts no more streams and has processed none above `lastID` (RFC 9113 section 6.8).
  mutating func goAway(lastID: Int, why: String) -> [Ended] {
    isDraining = true
    let ids = streams.keys.filter { $0 > lastID }.sorted()
    return ids.compactMap { closed($0, isRefused: true, why: why) }
  }

  /// Ends all requests as lost, because the connection closed.
  mutating func connectionLost(why: String) -> [Ended] {
    isDraining = true
    let ids = streams.keys.sorted()
    return ids.compactMap { id in
      guard let stream = streams.removeValue(forKey: id) else { return nil }
      return Ended(request: stream.request, outcome: .lost(why))
    }
  }

  /// Stops accepting requests.
  mutating func drain() { isDraining = true }

  /// Returns the streams that timed out; the caller must reset them.
  mutating func expire(nowMs: Int64) -> [(id: Int, ended: Ended)] {
    var expired: [(id: Int, ended: Ended)] = []
    while oldestID < nextID {
      if let stream = streams[oldestID] {
        guard stream.deadlineMs <= nowMs else { break }
        streams[oldestID] = nil
        timeoutsInRow += 1
        expired.append((oldestID, Ended(request: stream.request, outcome: .lost("no response in time"))))
      }
      oldestID += 2
    }
    return expired
  }

  private mutating func finish(_ id: Int, _ stream: Stream) -> Ended {
    streams[id] = nil
    var answer = stream.answer
    guard answer.status != 0 else {
      return Ended(request: stream.request, outcome: .lost("a response without a status"))
    }
    timeoutsInRow = 0
    answer.readReason()
    return Ended(request: stream.request, outcome: .answered(answer))
  }
}
