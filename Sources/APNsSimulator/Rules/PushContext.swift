import APNs

/// The header fields of a request that the rules use ("Sending notification requests to APNs").
struct PushFields: Sendable, Hashable {
  var authorization: String?
  var channelID: String?
  var collapseID: String?
  var expiration: String?
  var id: String?
  var priority: String?
  var pushType: String?
  /// The id of a broadcast or of a request about channels.
  var requestID: String?
  var topic: String?
  /// The first of these fields that occurs twice.
  var duplicate: String?

  /// Adds a field of the request; fields without meaning here are ignored.
  mutating func add(_ name: String, _ value: String) {
    let known: WritableKeyPath<PushFields, String?>
    switch name {
    case APNsHeader.authorization: known = \.authorization
    case APNsHeader.channelID: known = \.channelID
    case APNsHeader.collapseID: known = \.collapseID
    case APNsHeader.expiration: known = \.expiration
    case APNsHeader.id: known = \.id
    case APNsHeader.priority: known = \.priority
    case APNsHeader.pushType: known = \.pushType
    case APNsHeader.requestID: known = \.requestID
    case APNsHeader.topic: known = \.topic
    default: return
    }
    if self[keyPath: known] != nil { duplicate = duplicate ?? name }
    self[keyPath: known] = value
  }
}

/// The result of verifying a request's provider token.
enum ProviderStatus: Sendable, Hashable {
  case missing
  /// Not a provider token, with the cause.
  case malformed(String)
  /// There is no key with its `kid` and `iss`.
  case unknownKey(ProviderClaims)
  case wrongSignature(ProviderClaims)
  case verified(ProviderClaims, SigningKey)
}

/// The last provider token of a connection or key.
struct ProviderIssue: Sendable, Hashable {
  var keyID: String
  var teamID: String
  /// The `iat` of the token. A token signed again for the same second is not a renewal.
  var issuedAtSeconds: Int64
  /// Time at which the token was first used.
  var seenAtMs: Int64
}

/// The record of a device token.
struct DeviceRecord: Sendable, Hashable {
  enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Alerts and background pushes.
    case device
    /// Updates and the end of one activity.
    case activity
    /// Starts of activities.
    case start
    /// Live Activity pushes with any event: a token that was first seen in such a push.
    case live
    /// Reloads of an app's widgets.
    case widgets
    /// Reloads of a control.
    case control

    /// Returns the kind of a token that is first seen in a push of this type.
    static func first(_ pushType: PushType) -> Kind {
      switch pushType {
      case .liveactivity: .live
      case .widgets: .widgets
      case .controls: .control
      default: .device
      }
    }

    /// Whether a token of this kind receives pushes of this type: each kind has its own tokens ("Starting and updating
    /// Live Activities …", "Updating widgets …", "Updating controls locally and remotely").
    func takes(_ pushType: PushType) -> Bool {
      switch self {
      case .activity, .start, .live: pushType == .liveactivity
      case .device, .widgets, .control: self == Self.first(pushType)
      }
    }
  }

  var bundleID: String
  var kind: Kind
  /// The device that holds the token, which may hold others; nil for a device of its own.
  var device: String?
  var environment = APNsEnvironment.any
  var registeredAtMs: Int64
  /// The cause and time of its invalidation; the time may lie in the future.
  var rejection: Rejection?

  struct Rejection: Sendable, Hashable {
    var reason: APNsReason
    var timestampMs: Int64
  }
}

/// The input of the rules: a complete request, and the records of its key, token and connection.
struct PushContext: Sendable, Hashable {
  var method: String
  var path: String
  /// The key of the screen that the request addresses; nil without a token or a channel.
  var screenKey: String?
  var fields: PushFields
  /// Bytes of the body; a lower bound above all limits.
  var bodyBytes: Int
  var provider: ProviderStatus
  /// The last accepted provider token of the connection, which fixes its team and key.
  var connectionIssue: ProviderIssue?
  /// The previous token for the renewal rule: the connection's or the key's, as configured.
  var lastIssue: ProviderIssue?
  /// The token of the path; nil if it is unknown.
  var device: DeviceRecord?
  /// The channel of `apns-channel-id`; nil if the app of the path has no such channel.
  var channel: ChannelRecord?
  var nowMs: Int64
}
