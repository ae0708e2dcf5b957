/// A failure of the cryptographic library, or an unusable key. The message names the key's file and contains nothing of
/// the key.
public struct CryptoError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The operation that failed, or the reason. New codes may be added: switch with a default.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// Computing a digest failed.
    public static let digestFailed = Code(description: "DIGEST_FAILED")
    /// The system's random generator returned no bytes.
    public static let randomUnavailable = Code(description: "RANDOM_UNAVAILABLE")
    /// A key file cannot be read, is too large or is not a regular file.
    public static let keyUnreadable = Code(description: "KEY_UNREADABLE")
    /// A key file is accessible to its group or others.
    public static let keyExposed = Code(description: "KEY_EXPOSED")
    /// A text is not a valid PEM key: empty, truncated or damaged.
    public static let keyMalformed = Code(description: "KEY_MALFORMED")
    /// A key is protected by a password.
    public static let keyEncrypted = Code(description: "KEY_ENCRYPTED")
    /// A key of an unsupported kind: RSA, another curve, or a public key where a private one is required.
    public static let keyUnsupported = Code(description: "KEY_UNSUPPORTED")
    /// Creating or verifying a signature failed.
    public static let signatureFailed = Code(description: "SIGNATURE_FAILED")
    /// Computing a message authentication code failed.
    public static let macFailed = Code(description: "MAC_FAILED")
    /// The cost or a size of a key derivation exceeds its limits.
    public static let invalidCost = Code(description: "INVALID_COST")
    /// Deriving a key failed, usually because there is not enough memory.
    public static let derivationFailed = Code(description: "DERIVATION_FAILED")
  }

  public var code: Code
  public var message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(code): \(message)" }
}
