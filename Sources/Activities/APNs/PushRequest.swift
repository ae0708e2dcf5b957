package import APNs

/// A request to APNs.
package struct PushRequest: Sendable, Hashable {
  /// Identifies the result; unique among the requests in flight.
  package var ticket: UInt64
  package var method = "POST"
  /// `/3/device/<token>` or `/4/broadcasts/apps/<bundle id>`.
  package var path: String
  /// `bearer <provider token>`.
  package var authorization: String
  /// A canonical UUID, sent as `apns-id`; empty for broadcasts and requests about channels.
  package var id: String
  /// A canonical UUID, sent as `apns-request-id`; empty except for broadcasts.
  package var requestID = ""
  /// Empty for broadcasts, which have no topic.
  package var topic = ""
  package var pushType = ""
  /// 5 or 10; 0 for requests about channels.
  package var priority = 0
  /// Seconds since 1970; nil omits the header.
  package var expiration: Int64?
  package var collapseID: String?
  package var channelID: String?
  package var payload: [UInt8]
  /// Number of times it moved to another connection because the previous one had not processed it.
  package var handOvers = 0
}

/// APNs' response to a request.
package struct PushAnswer: Sendable, Hashable {
  /// The HTTP status.
  package var status: Int
  /// The member `reason` of the body; empty for 200 and for a body without it.
  package var reason = ""
  /// The member `timestamp` of the body: the time from which the token is invalid.
  package var timestampMs: Int64?
  package var retryAfterMs: Int64?
  /// `apns-channel-id`, for requests about channels.
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

/// The outcome of one attempt to send a request.
package enum PushOutcome: Sendable, Hashable {
  case answered(PushAnswer)
  /// APNs certainly did not process it: a retry does not count as an attempt. The text is the cause.
  case unprocessed(String)
  /// Unknown whether APNs processed it: the connection was lost or the response timed out.
  case lost(String)
}

/// An outcome and the ticket of its request.
package struct PushResult: Sendable, Hashable {
  package var ticket: UInt64
  package var outcome: PushOutcome

  package init(ticket: UInt64, outcome: PushOutcome) {
    self.ticket = ticket
    self.outcome = outcome
  }
}

/// The destination of pushes with one signing key. APNs requires a separate connection for each team and key
/// ("Establishing a token-based connection to APNs").
package struct PushRoute: Sendable, Hashable {
  package var host: APNsHost
  package var teamID: String
  package var keyID: String
}

/// The current capacity of a route.
package struct PushCapacity: Sendable, Hashable {
  /// Number of pushes that may be submitted.
  package var free: Int
  /// Time of the next attempt, if the route is down.
  package var retryAtMs: Int64?

  package init(free: Int, retryAtMs: Int64? = nil) {
    self.free = free
    self.retryAtMs = retryAtMs
  }
}

/// A sender of pushes. Submitting never waits; results arrive in any order, each once.
package protocol PushSending: Sendable {
  func capacity(of route: PushRoute) -> PushCapacity
  func submit(_ requests: [PushRequest], to route: PushRoute)
  /// Returns the results received since the last call.
  func takeResults() -> [PushResult]
}
