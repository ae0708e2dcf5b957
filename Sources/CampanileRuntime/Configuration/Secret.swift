/// A secret that does not show itself: printing, interpolating, dumping or mirroring it gives `[redacted]`.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The longest secret that is accepted, in UTF-8 bytes.
  public static let maximumBytes = 16 * 1024
  /// What stands in the place of a secret in every output.
  public static let placeholder = "[redacted]"

  private let value: String

  public init(_ value: String) {
    self.value = value
  }

  /// The secret itself. Hand it to the code that needs it and to nothing that writes.
  public func reveal() -> String { value }

  public var description: String { Self.placeholder }
  public var debugDescription: String { Self.placeholder }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
