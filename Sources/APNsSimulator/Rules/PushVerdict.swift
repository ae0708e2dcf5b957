import APNs

/// The refusal of a request, with the contents of the response ("Handling notification responses from APNs").
struct Refusal: Error, Sendable, Hashable {
  var reason: APNsReason
  /// For a 410: the time at which the token became invalid, in milliseconds since 1970.
  var timestampMs: Int64?
  var retryAfterSeconds: Int64?
  /// The exact cause, for the list of pushes; APNs does not reveal it.
  var detail: String

  init(_ reason: APNsReason, _ detail: String, timestampMs: Int64? = nil, retryAfterSeconds: Int64? = nil) {
    self.reason = reason
    self.detail = detail
    self.timestampMs = timestampMs
    self.retryAfterSeconds = retryAfterSeconds
  }
}

/// The resource that the path of a request identifies.
enum PushAddress: Sendable, Hashable {
  /// `POST /3/device/<token>`
  case device(DeviceToken)
  /// `POST /4/broadcasts/apps/<bundle id>`
  case broadcast(bundleID: String)
  /// `POST`, `GET` or `DELETE /1/apps/<bundle id>/channels`
  case channels(bundleID: String, method: ChannelMethod)
  /// `GET /1/apps/<bundle id>/all-channels`
  case allChannels(bundleID: String)

  enum ChannelMethod: Sendable, Hashable { case create, read, delete }

  var bundleID: String? {
    switch self {
    case .device: nil
    case .broadcast(let bundleID), .channels(let bundleID, _), .allChannels(let bundleID): bundleID
    }
  }
}

/// A push that APNs accepts.
struct AcceptedPush: Sendable, Hashable {
  var address: PushAddress
  var topic: Topic
  var priority: Int
  /// Seconds since 1970; 0 for a single attempt, nil for the maximum time that APNs stores a push.
  var expirationSeconds: Int64?
  var collapseID: String?
  var channelID: String?
}
