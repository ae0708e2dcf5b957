/// The reason why APNs rejected a push: the member `reason` of its response, and the HTTP status.
///
/// The list is Apple's ("Handling notification responses from APNs", "Handling error responses from Apple Push
/// Notification service"). `init(text:status:)` also represents reasons that are not in it.
public struct APNsReason: Sendable, Hashable, CustomStringConvertible {
  /// The reason as APNs writes it.
  public let text: String
  /// The HTTP status of the response.
  public let status: Int

  /// Creates the reason of a response. A known reason may come with another than its usual status.
  public init(text: String, status: Int) {
    self.text = text
    self.status = status
  }

  private init(_ status: Int, _ text: String) { self.init(text: text, status: status) }

  /// Returns the known reason with this text; `nil` if there is none.
  public static func known(_ text: String) -> APNsReason? { byText[text] }

  public var description: String { text }

  // The text alone identifies a reason, because its status may differ from the usual one.
  public static func == (a: APNsReason, b: APNsReason) -> Bool { a.text == b.text }
  public func hash(into hasher: inout Hasher) { hasher.combine(text) }

  public static let badCollapseID = APNsReason(400, "BadCollapseId")
  public static let badDeviceToken = APNsReason(400, "BadDeviceToken")
  public static let badExpirationDate = APNsReason(400, "BadExpirationDate")
  public static let badMessageID = APNsReason(400, "BadMessageId")
  public static let badPriority = APNsReason(400, "BadPriority")
  public static let badTopic = APNsReason(400, "BadTopic")
  public static let deviceTokenNotForTopic = APNsReason(400, "DeviceTokenNotForTopic")
  public static let duplicateHeaders = APNsReason(400, "DuplicateHeaders")
  public static let idleTimeout = APNsReason(400, "IdleTimeout")
  public static let invalidPushType = APNsReason(400, "InvalidPushType")
  public static let missingDeviceToken = APNsReason(400, "MissingDeviceToken")
  public static let missingTopic = APNsReason(400, "MissingTopic")
  public static let payloadEmpty = APNsReason(400, "PayloadEmpty")
  public static let topicDisallowed = APNsReason(400, "TopicDisallowed")

  // Reasons of broadcast channels ("Handling error responses from Apple Push Notification service").
  public static let badChannelID = APNsReason(400, "BadChannelId")
  public static let cannotCreateChannelConfig = APNsReason(400, "CannotCreateChannelConfig")
  public static let channelNotRegistered = APNsReason(400, "ChannelNotRegistered")
  public static let featureNotEnabled = APNsReason(400, "FeatureNotEnabled")
  public static let missingChannelID = APNsReason(400, "MissingChannelId")
  public static let missingPushType = APNsReason(400, "MissingPushType")

  public static let badCertificate = APNsReason(403, "BadCertificate")
  public static let badCertificateEnvironment = APNsReason(403, "BadCertificateEnvironment")
  public static let badEnvironmentKeyIDInToken = APNsReason(403, "BadEnvironmentKeyIdInToken")
  /// A synonym of `badEnvironmentKeyIDInToken`, which Apple also sends.
  public static let badEnvironmentKeyInToken = APNsReason(403, "BadEnvironmentKeyInToken")
  public static let expiredProviderToken = APNsReason(403, "ExpiredProviderToken")
  public static let forbidden = APNsReason(403, "Forbidden")
  public static let invalidProviderToken = APNsReason(403, "InvalidProviderToken")
  public static let missingProviderToken = APNsReason(403, "MissingProviderToken")
  public static let unrelatedKeyIDInToken = APNsReason(403, "UnrelatedKeyIdInToken")

  public static let badPath = APNsReason(404, "BadPath")
  public static let methodNotAllowed = APNsReason(405, "MethodNotAllowed")
  public static let expiredToken = APNsReason(410, "ExpiredToken")
  public static let unregistered = APNsReason(410, "Unregistered")
  public static let payloadTooLarge = APNsReason(413, "PayloadTooLarge")
  public static let tooManyProviderTokenUpdates = APNsReason(429, "TooManyProviderTokenUpdates")
  public static let tooManyRequests = APNsReason(429, "TooManyRequests")
  public static let internalServerError = APNsReason(500, "InternalServerError")
  public static let serviceUnavailable = APNsReason(503, "ServiceUnavailable")
  public static let shutdown = APNsReason(503, "Shutdown")

  /// All known reasons, by status.
  public static let all = [
    badCollapseID, badDeviceToken, badExpirationDate, badMessageID, badPriority, badTopic, deviceTokenNotForTopic,
    duplicateHeaders, idleTimeout, invalidPushType, missingDeviceToken, missingTopic, payloadEmpty, topicDisallowed,
    badChannelID, cannotCreateChannelConfig, channelNotRegistered, featureNotEnabled, missingChannelID, missingPushType,
    badCertificate, badCertificateEnvironment, badEnvironmentKeyIDInToken, badEnvironmentKeyInToken,
    expiredProviderToken, forbidden, invalidProviderToken, missingProviderToken, unrelatedKeyIDInToken, badPath,
    methodNotAllowed, expiredToken, unregistered, payloadTooLarge, tooManyProviderTokenUpdates, tooManyRequests,
    internalServerError, serviceUnavailable, shutdown,
  ]

  private static let byText = Dictionary(uniqueKeysWithValues: all.map { ($0.text, $0) })

  /// Whether the push's token is permanently invalid, unless it was registered again after the rejection ("Handling
  /// notification responses from APNs").
  public var retiresToken: Bool { [.badDeviceToken, .expiredToken, .unregistered].contains(self) }
}
