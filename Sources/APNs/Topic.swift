/// The destination of a push: an app and a push type, written as `apns-topic` ("Sending notification requests to
/// APNs").
public struct Topic: Sendable, Hashable, CustomStringConvertible {
  /// The app's bundle id, for example `com.example.growth`.
  public var bundleID: String
  public var pushType: PushType

  /// Creates a topic. Validate a `bundleID` from outside with `isBundleID` first.
  public init(bundleID: String, pushType: PushType) {
    self.bundleID = bundleID
    self.pushType = pushType
  }

  /// Parses a topic with the suffix of `pushType`; `nil` if the suffix differs, or if the rest is not a bundle id.
  ///
  /// The rest must not end in another type's `.push-type.` suffix, which no bundle id has. The older suffixes, such as
  /// `.voip`, can be the end of a bundle id.
  public init?(text: String, pushType: PushType) {
    guard text.hasSuffix(pushType.topicSuffix) else { return nil }
    let bundleID = String(text.dropLast(pushType.topicSuffix.count))
    guard Self.isBundleID(bundleID), Self.suffix(of: bundleID)?.hasPrefix(".push-type.") != true else { return nil }
    self.init(bundleID: bundleID, pushType: pushType)
  }

  /// The value of `apns-topic`.
  public var text: String { bundleID + pushType.topicSuffix }

  public var description: String { text }

  /// Returns the bundle id of a topic with an unknown push type: `text` without the suffix of any push type.
  public static func bundleID(ofText text: String) -> String {
    guard let suffix = suffix(of: text) else { return text }
    return String(text.dropLast(suffix.count))
  }

  /// Reports whether `text` can be a bundle id: 1 to 155 letters, digits, hyphens and dots in non-empty parts. This is
  /// Apple's rule for `CFBundleIdentifier`; the length is App Store Connect's.
  public static func isBundleID(_ text: String) -> Bool {
    let bytes = text.utf8
    guard (1...APNsLimits.bundleIDBytesMax).contains(bytes.count) else { return false }
    var previous = UInt8(ascii: ".")
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "."):
        if previous == byte { return false }
      case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        break
      default: return false
      }
      previous = byte
    }
    return previous != UInt8(ascii: ".")
  }

  private static func suffix(of text: String) -> String? {
    PushType.all.map(\.topicSuffix).first { !$0.isEmpty && text.hasSuffix($0) }
  }
}
