import APNs

/// The header fields of a request that the rules look at.
struct PushFields: Sendable, Hashable {
  var authorization: String?
  var channelID: String?
  var collapseID: String?
  var expiration: String?
  var id: String?
  var priority: String?
  var pushType: String?
  var topic: String?
  /// The first of these fields that is there twice.
  var duplicate: String?

  /// Takes a field of the request; those without meaning here are left out.
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
    case APNsHeader.topic: known = \.topic
    default: return
    }
    if self[keyPath: known] != nil { duplicate = duplicate ?? name }
    self[keyPath: known] = value
  }
}

/// What is known of the provider token of a request.
enum ProviderFacts: Sendable, Hashable {
  case missing
  /// It is no provider token; why.
  case malformed(String)
  /// No key with its `kid` and `iss` is known.
  case unknownKey(ProviderClaims)
  case wrongSignature(ProviderClaims)
  case verified(ProviderClaims, SigningKey)
}

/// The last provider token of a connection or key.
struct ProviderIssue: Sendable, Hashable {
  var keyID: String
  var teamID: String
  /// The `iat` of the token: a token that was signed again for the same second is no renewal.
  var issuedAtSeconds: Int64
  /// When it was first seen.
  var seenAtMs: Int64
}

/// What is known of a device token.
struct DeviceRecord: Sendable, Hashable {
  enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Alerts and background pushes.
    case device
    /// Updates and the end of one activity.
    case activity
    /// Starts of activities.
    case start
    /// Live Activity pushes of whatever event: what a token is that was learned from one.
    case live
  }

  var bundleID: String
  var kind: Kind
  var environment = APNsEnvironment.any
  var registeredAtMs: Int64
  /// Why it is not valid any more, and since when; a time to come is when it will not be.
  var rejection: Rejection?

  struct Rejection: Sendable, Hashable {
    var reason: APNsReason
    var timestampMs: Int64
  }
}

/// What the rules judge: a request that has come whole, and what is known of its key, its token and its connection.
struct PushFacts: Sendable, Hashable {
  var method: String
  var path: String
  var fields: PushFields
  /// Bytes of the body; counting ends somewhere above every limit.
  var bodyBytes: Int
  var provider: ProviderFacts
  /// The provider token that the connection was used with first or last.
  var connectionIssue: ProviderIssue?
  /// What a renewal is compared with: the connection's or the key's last issue, as configured.
  var lastIssue: ProviderIssue?
  /// The token of the path; nil when it is not known.
  var device: DeviceRecord?
  /// Whether the channel of `apns-channel-id` exists for the app of the path, and whether it stores messages.
  var channel: ChannelRecord?
  var nowMs: Int64
}
