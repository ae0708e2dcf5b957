private import COpenSSL

/// The cost of deriving a key with scrypt: 128 · r · 2^costLog2 bytes of memory, and time proportional to that and p.
public struct ScryptCost: Sendable, Hashable {
  /// The base-two logarithm of the CPU and memory cost N: 1 to 20.
  public var costLog2: Int
  /// The block size r: 1 to 32.
  public var blockSize: Int
  /// The parallelization p: 1 to 16.
  public var parallelization: Int

  /// Maximum memory of a derivation, so that a stored hash cannot exhaust the machine's memory.
  public static let memoryBytesMax = 256 << 20

  /// 32 MiB and about 80 ms on a server of 2024: the recommendation of OWASP's password storage cheat sheet for scrypt
  /// with p = 3.
  public static let password = ScryptCost(costLog2: 15, blockSize: 8, parallelization: 3)

  public init(costLog2: Int, blockSize: Int, parallelization: Int) {
    self.costLog2 = costLog2
    self.blockSize = blockSize
    self.parallelization = parallelization
  }

  /// The memory of one derivation; 0 if a value exceeds its limits.
  public var memoryBytes: Int {
    guard (1...20).contains(costLog2), (1...32).contains(blockSize), (1...16).contains(parallelization) else {
      return 0
    }
    return 128 * blockSize * ((1 << costLog2) + parallelization + 2)
  }

  var isAllowed: Bool { memoryBytes > 0 && memoryBytes <= Self.memoryBytesMax }
}

/// The password-based key derivation scrypt (RFC 7914).
public enum Scrypt {
  /// Maximum size of the password and of the salt.
  public static let inputBytesMax = 4096
  /// Maximum size of the derived key.
  public static let keySizeBytesMax = 1024

  /// Derives a key of `sizeBytes` from a password and a salt.
  ///
  /// Blocks the thread for the whole duration and takes `cost.memoryBytes`: run few at a time, and never on an event
  /// loop.
  ///
  /// - Throws: `invalidCost` for values outside their limits, `derivationFailed` if there is not enough memory.
  public static func key(
    password: [UInt8], salt: [UInt8], cost: ScryptCost, sizeBytes: Int
  ) throws(CryptoError) -> [UInt8] {
    guard cost.isAllowed else {
      throw CryptoError(
        .invalidCost,
        "log2(N) \(cost.costLog2), r \(cost.blockSize), p \(cost.parallelization) is outside 1-20, 1-32, 1-16 or above "
          + "\(ScryptCost.memoryBytesMax) bytes of memory")
    }
    guard (1...keySizeBytesMax).contains(sizeBytes), password.count <= inputBytesMax, salt.count <= inputBytesMax else {
      throw CryptoError(
        .invalidCost, "keys have 1 to \(keySizeBytesMax) bytes, passwords and salts at most \(inputBytesMax)")
    }
    var key = [UInt8](repeating: 0, count: sizeBytes)
    let made = password.withUnsafeBytes { password in
      // OpenSSL interprets a null pointer as "no password": it then only checks the parameters.
      let text = password.baseAddress.map { $0.assumingMemoryBound(to: CChar.self) }
      return withUnsafePointer(to: CChar(0)) { empty in
        EVP_PBE_scrypt(
          text ?? empty, password.count, salt, salt.count, 1 << UInt64(cost.costLog2), UInt64(cost.blockSize),
          UInt64(cost.parallelization), UInt64(2 * ScryptCost.memoryBytesMax), &key, sizeBytes)
      }
    }
    guard made == 1 else { throw CryptoError(.derivationFailed, "OpenSSL could not derive a key") }
    return key
  }
}
