import APNs

/// One push on its way, as APNs gets it.
struct PushRequest: Sendable, Hashable {
  /// What the result is recognised by; unique among the pushes under way.
  var ticket: UInt64
  var method = "POST"
  /// `/3/device/<token>` or `/4/broadcasts/apps/<bundle id>`.
  var path: String
  /// `bearer <provider token>`.
  var authorization: String
  /// A canonical UUID; empty for requests about channels.
  var id: String
  /// Empty for broadcasts, which have none.
  var topic = ""
  var pushType = ""
  /// 5 or 10; 0 for requests about channels.
  var priority = 0
  /// Seconds since 1970; nil: the header is left out.
  var expiration: Int64?
  var collapseID: String?
  var channelID: String?
  var payload: [UInt8]
  /// How often it was handed to another connection because the one before had not processed it.
  var handOvers = 0
}

/// What APNs said about a push.
struct PushAnswer: Sendable, Hashable {
  /// The HTTP status.
  var status: Int
  /// The member `reason` of the body; empty for 200 and for a body that has none.
  var reason = ""
  /// The member `timestamp` of the body: since when the token is not valid.
  var timestampMs: Int64?
  var retryAfterMs: Int64?
  /// `apns-channel-id` and the body, of requests about channels.
  var channelID: String?
  var body: [UInt8] = []
}

/// What became of sending a push.
enum PushOutcome: Sendable, Hashable {
  case answered(PushAnswer)
  /// APNs has not processed it for certain: it may be sent again without counting. The text says why.
  case unprocessed(String)
  /// Nobody knows whether APNs has processed it: connection lost, or no answer in time.
  case lost(String)
}

/// The outcome with the ticket of its request.
struct PushResult: Sendable, Hashable {
  var ticket: UInt64
  var outcome: PushOutcome
}

/// Where pushes with one signing key go: APNs wants one team per connection, and another one for another key.
struct PushRoute: Sendable, Hashable {
  var host: APNsHost
  var teamID: String
  var keyID: String
}

/// How much a route takes now.
struct PushCapacity: Sendable, Hashable {
  /// Pushes that may be submitted.
  var free: Int
  /// When it is worth asking again, if it takes none because it is down.
  var retryAtMs: Int64?
}

/// What sends pushes. Submitting never waits; results come in any order, each once.
protocol PushSending: Sendable {
  func capacity(of route: PushRoute) -> PushCapacity
  func submit(_ requests: [PushRequest], to route: PushRoute)
  /// What has come since the last call.
  func takeResults() -> [PushResult]
}
