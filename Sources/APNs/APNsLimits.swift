/// The limits that Apple sets ("Sending notification requests to APNs", "Starting and updating Live Activities").
public enum APNsLimits {
  /// The payload of a push.
  public static let payloadBytesMax = 4096
  /// The payload of a VoIP push and of a broadcast.
  public static let largePayloadBytesMax = 5120
  public static let collapseIDBytesMax = 64
  /// Channels of an app in one environment.
  public static let channelsPerAppMax = 10_000
  /// The values of `apns-priority`: 1 considers the battery before all, 5 spares it, 10 delivers at once.
  public static let priorities = [1, 5, 10]
  public static let priorityDefault = 10
  /// How long after the end an activity may stay on the Lock Screen.
  public static let dismissalSecondsMax = 4 * 3600
  /// How long an activity is active.
  public static let activitySecondsMax = 8 * 3600
  /// App Store Connect's.
  public static let bundleIDBytesMax = 155
  /// Channel ids are short texts in base64; APNs gives them.
  public static let channelIDBytesMax = 128

  /// The most bytes of a payload of this kind, which is not a broadcast's.
  public static func payloadBytesMax(_ pushType: PushType) -> Int {
    pushType == .voip ? largePayloadBytesMax : payloadBytesMax
  }
}

/// The rules of provider tokens ("Establishing a token-based connection to APNs").
public enum ProviderTokenRules {
  /// A new token sooner than this after the last one is answered with `TooManyProviderTokenUpdates`.
  public static let renewalSecondsMin: Int64 = 20 * 60
  /// A token issued longer ago is answered with `ExpiredProviderToken`.
  public static let ageSecondsMax: Int64 = 60 * 60
  /// The only algorithm (RFC 7518 section 3.4).
  public static let algorithm = "ES256"
  /// Letters and digits of a key id and of a team id.
  public static let identifierCharacters = 10

  /// Whether `text` is a key id or a team id: ten upper-case letters and digits.
  public static func isIdentifier(_ text: String) -> Bool {
    text.utf8.count == identifierCharacters
      && text.utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
      }
  }
}
