import APNs

/// Why a request is refused, as the answer says it.
struct Refusal: Error, Sendable, Hashable {
  var reason: APNsReason
  /// Of a 410: when the token became invalid, in milliseconds since 1970.
  var timestampMs: Int64?
  var retryAfterSeconds: Int64?
  /// What exactly was wrong, for the list of pushes: APNs keeps it to itself.
  var detail: String

  init(_ reason: APNsReason, _ detail: String, timestampMs: Int64? = nil, retryAfterSeconds: Int64? = nil) {
    self.reason = reason
    self.detail = detail
    self.timestampMs = timestampMs
    self.retryAfterSeconds = retryAfterSeconds
  }
}

/// What the path of a request names.
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

/// A push that APNs takes.
struct AcceptedPush: Sendable, Hashable {
  var address: PushAddress
  var topic: Topic
  var priority: Int
  /// Epoch seconds; 0 is one attempt, nil the longest that APNs stores.
  var expirationSeconds: Int64?
  var collapseID: String?
  var channelID: String?
}
