/// A secret that is redacted in output: printing, interpolating, dumping or mirroring it gives `[redacted]`.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Maximum length of a secret in UTF-8 bytes.
  public static let maximumBytes = 16 * 1024
  /// The placeholder for secrets in output.
  public static let placeholder = "[redacted]"

  private let value: String

  public init(_ value: String) {
    self.value = value
  }

  /// Returns the secret. Never pass it to code that writes output.
  public func reveal() -> String { value }

  public var description: String { Self.placeholder }
  public var debugDescription: String { Self.placeholder }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
