/// A failure of the cryptographic library, or a key that cannot be used. The message names the key's file and holds nothing
/// of the key.
public struct CryptoError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What could not be done. New codes may be added: switch with a default.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// No digest could be made.
    public static let digestFailed = Code(description: "DIGEST_FAILED")
    /// The system's generator gave no random bytes.
    public static let randomUnavailable = Code(description: "RANDOM_UNAVAILABLE")
    /// A key's file that cannot be read, is too large or is no file.
    public static let keyUnreadable = Code(description: "KEY_UNREADABLE")
    /// A key's file to which its group or others have access.
    public static let keyExposed = Code(description: "KEY_EXPOSED")
    /// A text that is no key in PEM: empty, cut short or damaged.
    public static let keyMalformed = Code(description: "KEY_MALFORMED")
    /// A key that a password protects.
    public static let keyEncrypted = Code(description: "KEY_ENCRYPTED")
    /// A key of another kind: RSA, another curve, or a public key where a private one is needed.
    public static let keyUnsupported = Code(description: "KEY_UNSUPPORTED")
    /// No signature could be made or checked.
    public static let signatureFailed = Code(description: "SIGNATURE_FAILED")
    /// No message authentication code could be made.
    public static let macFailed = Code(description: "MAC_FAILED")
    /// Costs or sizes of a key derivation that are outside its limits.
    public static let invalidCost = Code(description: "INVALID_COST")
    /// No key could be derived, which mostly means that there is no memory for it.
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
