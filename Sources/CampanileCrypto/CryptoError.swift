/// A failure of the cryptographic library, which on a sound machine means that it is out of memory or misconfigured.
public struct CryptoError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What could not be done. New codes may be added: switch with a default.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    /// No digest could be made.
    public static let digestFailed = Code(description: "DIGEST_FAILED")
    /// The system's generator gave no random bytes.
    public static let randomUnavailable = Code(description: "RANDOM_UNAVAILABLE")
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
