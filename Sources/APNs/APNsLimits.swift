/// Apple's limits, each with the title of the page that states it.
public enum APNsLimits {
  /// Maximum payload of a push ("Generating a remote notification").
  public static let payloadBytesMax = 4096
  /// Maximum payload of a VoIP push ("Generating a remote notification") or a broadcast ("Sending broadcast push
  /// notification requests to APNs").
  public static let largePayloadBytesMax = 5120
  /// "Sending notification requests to APNs".
  public static let collapseIDBytesMax = 64
  /// Maximum number of channels per app and environment ("Sending channel management requests to APNs").
  public static let channelsPerAppMax = 10_000
  /// The values of `apns-priority`: 1 puts the device's battery before everything, 5 considers it, 10 delivers
  /// immediately ("Sending notification requests to APNs").
  public static let priorities = [1, 5, 10]
  public static let priorityDefault = 10
  /// Maximum time that an ended activity stays on the Lock Screen ("Displaying live data with Live Activities").
  public static let dismissalSecondsMax = 4 * 3600
  /// Maximum duration of an activity ("Displaying live data with Live Activities").
  public static let activitySecondsMax = 8 * 3600
  /// App Store Connect's limit.
  public static let bundleIDBytesMax = 155
  /// Channel ids are short base64 strings that APNs assigns. Apple documents no length.
  public static let channelIDBytesMax = 128

  /// Returns the maximum payload of a push of this type that is not a broadcast.
  public static func payloadBytesMax(_ pushType: PushType) -> Int {
    pushType == .voip ? largePayloadBytesMax : payloadBytesMax
  }
}

/// The rules of provider tokens ("Establishing a token-based connection to APNs").
public enum ProviderTokenRules {
  /// APNs responds with `ExpiredProviderToken` to a token older than this.
  public static let ageSecondsMax: Int64 = 60 * 60
  /// The only supported algorithm (RFC 7518 section 3.4).
  public static let algorithm = "ES256"
  /// Length of a key id and of a team id.
  public static let identifierCharacters = 10

  /// Reports whether `text` is a key id or a team id: ten upper-case letters and digits.
  public static func isIdentifier(_ text: String) -> Bool {
    text.utf8.count == identifierCharacters
      && text.utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
      }
  }
}
