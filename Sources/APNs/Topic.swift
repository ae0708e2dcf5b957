/// Where a push goes: an app and the kind of push, written as `apns-topic`.
public struct Topic: Sendable, Hashable, CustomStringConvertible {
  /// The app, for example `com.example.growth`.
  public var bundleID: String
  public var pushType: PushType

  /// Throws nothing: `bundleID` is to be checked with `isBundleID` where it comes from outside.
  public init(bundleID: String, pushType: PushType) {
    self.bundleID = bundleID
    self.pushType = pushType
  }

  /// The topic that `text` and the push type name together; `nil` when the suffix is not the push type's, or when what
  /// is before it is no bundle id.
  ///
  /// What is left may not end in another kind's `.push-type.` suffix, which no bundle id has; the older suffixes, such as
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

  /// The app of a topic whose kind is not known: `text` without any kind's suffix.
  public static func bundleID(ofText text: String) -> String {
    guard let suffix = suffix(of: text) else { return text }
    return String(text.dropLast(suffix.count))
  }

  /// Whether `text` can be a bundle id: 1 to 155 letters, digits, hyphens and dots in non-empty parts (Apple's rule for
  /// `CFBundleIdentifier`; the length is App Store Connect's).
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
