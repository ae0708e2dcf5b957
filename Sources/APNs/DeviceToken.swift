/// The address of an app on a device, of an activity on it, or of starting activities on it.
///
/// Apple asks never to assume a length: any even number of hexadecimal digits is a token, up to 200 bytes here.
public struct DeviceToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
  /// The most bytes that a token has here; a limit of ours.
  public static let sizeBytesMax = 200

  /// Lower-case hexadecimal digits, an even number.
  public let hexadecimal: String

  /// The token that `text` writes in hexadecimal digits of either case. `nil` for other characters, an odd number of
  /// them, none, or more than 400.
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

  /// What may be shown and logged: the first and the last four digits of a long token, the first two of a short one.
  public var redacted: String {
    hexadecimal.utf8.count >= 32 ? "\(hexadecimal.prefix(4))…\(hexadecimal.suffix(4))" : "\(hexadecimal.prefix(2))…"
  }

  /// Redacted: a token is a capability, and texts find their way into logs.
  public var description: String { redacted }
  public var debugDescription: String { redacted }
}

extension DeviceToken: CustomReflectable {
  // `dump` and Mirror would otherwise show the digits.
  public var customMirror: Mirror { Mirror(self, children: ["redacted": redacted]) }
}
