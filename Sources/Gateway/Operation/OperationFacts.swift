/// What the operator's surface tells, as its JSON.
struct OpenCallFacts: Sendable, Hashable, Encodable {
  var method: String
  var isStream: Bool
  /// `user/ada`; `operator` on trusted links, `anonymous` for strangers.
  var principal: String
  /// Of the caller.
  var remoteAddress: String
  var service: String
  /// Of the backend.
  var address: String
  var ageMs: Int64
  /// Bytes of its stream that wait for the backend.
  var waitingBytes: Int
}

struct AddressFacts: Sendable, Hashable, Encodable {
  var address: String
  /// `serving`, `notServing` or `unknown`: what it last said of itself; the best of what the event loops know.
  var health: String
  var isConnected: Bool
  /// It answers badly, and is left out for so long.
  var ejectedForMs: Int64?
  /// It is no longer among the backend's addresses, and finishes its calls.
  var isLeaving: Bool
  var openCalls: Int
}

struct BackendFacts: Sendable, Hashable, Encodable {
  var name: String
  var isServing: Bool
  /// `closed`, `open` or `halfOpen`: the worst of the event loops'.
  var breaker: String
  var openCalls: Int
  var openStreams: Int
  var addresses: [AddressFacts]
}

struct RouteFacts: Sendable, Hashable, Encodable {
  var method: String
  /// The backend's name; none for what the gateway serves itself.
  var service: String?
  var kind: String
  /// `public`, or the scope that it needs.
  var scope: String
  var isBulk: Bool
  /// `PER_SECOND:BURST` of all callers together.
  var rate: String?
}

struct ShareFacts: Sendable, Hashable, Encodable {
  var name: String
  var openCalls: Int
  var openStreams: Int
  /// Calls that its rate would take now; none where nothing limits it.
  var remaining: Int?
}

struct LimitFacts: Sendable, Hashable, Encodable {
  var principalRate: String?
  var addressRate: String?
  var anonymousRate: String?
  var principalCallsMax: Int
  var principalStreamsMax: Int
  var backendCallsMax: Int
  var backendStreamsMax: Int
  var memoryBytesMax: Int?
  var residentBytes: Int?
  /// `none`, `tight` or `full`.
  var memoryPressure: String
  /// Those with the most calls under way, and of these with the least left of their rate.
  var principals: [ShareFacts]
  var addresses: [ShareFacts]
}

struct OperationSummary: Sendable, Hashable, Encodable {
  /// Milliseconds since the gateway was made.
  var uptimeMs: Int64
  var residentBytes: Int?
  var openCalls: Int
  var openStreams: Int
  var backends: [BackendFacts]
  var methods: [MethodStatistics.Facts]
}
