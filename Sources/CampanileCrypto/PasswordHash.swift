import CampanileBase

/// A password hash for storage: an scrypt key with its salt and cost.
///
/// The text form is `$scrypt$ln=15,r=8,p=3$<salt>$<key>`, with salt and key in base64url. It contains the cost, so that
/// old hashes still verify after the cost is raised. Creating and verifying a hash blocks the thread for the whole
/// derivation.
public struct PasswordHash: Sendable, Hashable, CustomStringConvertible {
  public static let saltSizeBytes = 16
  public static let keySizeBytes = 32

  public let cost: ScryptCost
  let salt: [UInt8]
  let key: [UInt8]

  /// Hashes a password with a new random salt.
  ///
  /// - Throws: `invalidCost`, `randomUnavailable` or `derivationFailed`.
  public init(_ password: String, cost: ScryptCost = .password) throws(CryptoError) {
    let salt = try SecureRandom.bytes(Self.saltSizeBytes)
    self.cost = cost
    self.salt = salt
    key = try Scrypt.key(password: Array(password.utf8), salt: salt, cost: cost, sizeBytes: Self.keySizeBytes)
  }

  /// Parses a stored hash. Nil unless it has the text form above and a cost within the limits of `ScryptCost`.
  public init?(text: String) {
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt" else { return nil }
    let costs = parts[2].split(separator: ",", omittingEmptySubsequences: false)
    guard costs.count == 3, let costLog2 = Self.value(costs[0], "ln="), let blockSize = Self.value(costs[1], "r="),
      let parallelization = Self.value(costs[2], "p=")
    else { return nil }
    let cost = ScryptCost(costLog2: costLog2, blockSize: blockSize, parallelization: parallelization)
    guard cost.isAllowed, let salt = Base64URL.decode(String(parts[3])), (8...64).contains(salt.count),
      let key = Base64URL.decode(String(parts[4])), key.count == Self.keySizeBytes
    else { return nil }
    self.cost = cost
    self.salt = salt
    self.key = key
  }

  /// Whether `password` is the hashed one. Compares in constant time. A password above `Scrypt.inputBytesMax` is
  /// rejected without a derivation.
  ///
  /// - Throws: `derivationFailed` if there is not enough memory.
  public func matches(_ password: String) throws(CryptoError) -> Bool {
    let bytes = Array(password.utf8)
    guard bytes.count <= Scrypt.inputBytesMax else { return false }
    return ConstantTime.equal(
      try Scrypt.key(password: bytes, salt: salt, cost: cost, sizeBytes: key.count), key)
  }

  /// The text form to store.
  public var text: String {
    "$scrypt$ln=\(cost.costLog2),r=\(cost.blockSize),p=\(cost.parallelization)$\(Base64URL.encode(salt))$"
      + Base64URL.encode(key)
  }

  /// The cost alone: a log must not contain data against which a password can be guessed.
  public var description: String {
    "$scrypt$ln=\(cost.costLog2),r=\(cost.blockSize),p=\(cost.parallelization)$…"
  }

  private static func value(_ text: Substring, _ name: String) -> Int? {
    guard text.hasPrefix(name) else { return nil }
    let digits = text.dropFirst(name.count)
    guard (1...2).contains(digits.utf8.count), digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int(digits)
  }
}
