/// The names of APNs' header fields ("Sending notification requests to APNs", "Sending broadcast push notification
/// requests to APNs"), in lower case as HTTP/2 requires (RFC 9113 section 8.2).
public enum APNsHeader {
  public static let authorization = "authorization"
  public static let channelID = "apns-channel-id"
  public static let collapseID = "apns-collapse-id"
  public static let expiration = "apns-expiration"
  public static let id = "apns-id"
  public static let priority = "apns-priority"
  public static let pushType = "apns-push-type"
  public static let topic = "apns-topic"
  /// The id of a broadcast or of a request about channels, which have no `apns-id`.
  public static let requestID = "apns-request-id"
  /// RFC 9110 section 10.2.3; Apple documents no such field.
  public static let retryAfter = "retry-after"

  /// The scheme before the provider token in `authorization`; case-insensitive (RFC 9110 section 11.1).
  public static let bearer = "bearer "
}

/// The paths of APNs.
public enum APNsPath {
  /// `POST /3/device/<token>` ("Sending notification requests to APNs").
  public static let device = "/3/device/"
  /// `POST /4/broadcasts/apps/<bundle id>` ("Sending broadcast push notification requests to APNs").
  public static let broadcasts = "/4/broadcasts/apps/"
  /// `POST`, `GET` and `DELETE /1/apps/<bundle id>/channels`, and `GET /1/apps/<bundle id>/all-channels`; served by the
  /// management host ("Sending channel management requests to APNs").
  public static let apps = "/1/apps/"
  public static let channels = "/channels"
  public static let allChannels = "/all-channels"
}

/// `aps.event` of a Live Activity push ("Starting and updating Live Activities with ActivityKit push notifications").
/// There is no event for pausing, which is an update.
public enum LiveActivityEvent: String, Sendable, Hashable, CaseIterable {
  case start, update, end
}
