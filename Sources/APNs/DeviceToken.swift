/// A push token: the address of an app on a device, of a Live Activity, or for starting Live Activities.
///
/// Apple requires not to assume a length ("Registering your app with APNs"). Any even number of hexadecimal digits is
/// accepted, up to 200 bytes.
public struct DeviceToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
  /// Maximum size of a token; a limit of Campanile, not of Apple.
  public static let sizeBytesMax = 200

  /// The token as an even number of lower-case hexadecimal digits.
  public let hexadecimal: String

  /// Parses hexadecimal digits of either case; `nil` for other characters, an odd number of digits, none, or more than
  /// 400.
  public init?(_ text: String) {
    let bytes = text.utf8
    guard !bytes.isEmpty, bytes.count.isMultiple(of: 2), bytes.count <= 2 * Self.sizeBytesMax else { return nil }
    var isLower = true
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): break
      case UInt8(ascii: "A")...UInt8(ascii: "F"): isLower = false
      default: return nil
      }
    }
    hexadecimal = isLower ? text : text.lowercased()
  }

  public var sizeBytes: Int { hexadecimal.utf8.count / 2 }

  /// The form for display and logs: the first and the last four digits of a long token, the first two of a short one.
  public var redacted: String {
    hexadecimal.utf8.count >= 32 ? "\(hexadecimal.prefix(4))…\(hexadecimal.suffix(4))" : "\(hexadecimal.prefix(2))…"
  }

  /// Redacted, because a token is a capability and descriptions end up in logs.
  public var description: String { redacted }
  public var debugDescription: String { redacted }
}

extension DeviceToken: CustomReflectable {
  // Without this, `dump` and `Mirror` would show the digits.
  public var customMirror: Mirror { Mirror(self, children: ["redacted": redacted]) }
}
