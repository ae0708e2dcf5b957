private import COpenSSL

/// Comparisons whose duration tells nothing about the secret.
public enum ConstantTime {
  /// Whether both hold the same bytes. Only their lengths may be learned from the time it takes.
  public static func equal(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    guard a.count == b.count else { return false }
    guard let first = a.baseAddress, let second = b.baseAddress else { return true }
    return CRYPTO_memcmp(first, second, a.count) == 0
  }

  /// Whether both hold the same bytes. Only their lengths may be learned from the time it takes.
  public static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.withUnsafeBytes { first in b.withUnsafeBytes { equal(first, $0) } }
  }
}
