package import APNs

/// One push on its way, as APNs gets it.
package struct PushRequest: Sendable, Hashable {
  /// What the result is recognised by; unique among the pushes under way.
  package var ticket: UInt64
  package var method = "POST"
  /// `/3/device/<token>` or `/4/broadcasts/apps/<bundle id>`.
  package var path: String
  /// `bearer <provider token>`.
  package var authorization: String
  /// A canonical UUID; empty for requests about channels.
  package var id: String
  /// Empty for broadcasts, which have none.
  package var topic = ""
  package var pushType = ""
  /// 5 or 10; 0 for requests about channels.
  package var priority = 0
  /// Seconds since 1970; nil: the header is left out.
  package var expiration: Int64?
  package var collapseID: String?
  package var channelID: String?
  package var payload: [UInt8]
  /// How often it was handed to another connection because the one before had not processed it.
  package var handOvers = 0
}

/// What APNs said about a push.
package struct PushAnswer: Sendable, Hashable {
  /// The HTTP status.
  package var status: Int
  /// The member `reason` of the body; empty for 200 and for a body that has none.
  package var reason = ""
  /// The member `timestamp` of the body: since when the token is not valid.
  package var timestampMs: Int64?
  package var retryAfterMs: Int64?
  /// `apns-channel-id` and the body, of requests about channels.
  package var channelID: String?
  package var body: [UInt8] = []

  package init(
    status: Int, reason: String = "", timestampMs: Int64? = nil, retryAfterMs: Int64? = nil, channelID: String? = nil,
    body: [UInt8] = []
  ) {
    (self.status, self.reason, self.timestampMs) = (status, reason, timestampMs)
    (self.retryAfterMs, self.channelID, self.body) = (retryAfterMs, channelID, body)
  }
}

/// What became of sending a push.
package enum PushOutcome: Sendable, Hashable {
  case answered(PushAnswer)
  /// APNs has not processed it for certain: it may be sent again without counting. The text says why.
  case unprocessed(String)
  /// Nobody knows whether APNs has processed it: connection lost, or no answer in time.
  case lost(String)
}

/// The outcome with the ticket of its request.
package struct PushResult: Sendable, Hashable {
  package var ticket: UInt64
  package var outcome: PushOutcome

  package init(ticket: UInt64, outcome: PushOutcome) {
    self.ticket = ticket
    self.outcome = outcome
  }
}

/// Where pushes with one signing key go: APNs wants one team per connection, and another one for another key.
package struct PushRoute: Sendable, Hashable {
  package var host: APNsHost
  package var teamID: String
  package var keyID: String
}

/// How much a route takes now.
package struct PushCapacity: Sendable, Hashable {
  /// Pushes that may be submitted.
  package var free: Int
  /// When it is worth asking again, if it takes none because it is down.
  package var retryAtMs: Int64?

  package init(free: Int, retryAtMs: Int64? = nil) {
    self.free = free
    self.retryAtMs = retryAtMs
  }
}

/// What sends pushes. Submitting never waits; results come in any order, each once.
package protocol PushSending: Sendable {
  func capacity(of route: PushRoute) -> PushCapacity
  func submit(_ requests: [PushRequest], to route: PushRoute)
  /// What has come since the last call.
  func takeResults() -> [PushResult]
}
