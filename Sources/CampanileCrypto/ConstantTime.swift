private import COpenSSL

/// Comparisons in constant time: the duration reveals nothing about the secret.
public enum ConstantTime {
  /// Whether both have the same bytes. The duration reveals only their lengths.
  public static func equal(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    guard a.count == b.count else { return false }
    guard let first = a.baseAddress, let second = b.baseAddress else { return true }
    return CRYPTO_memcmp(first, second, a.count) == 0
  }

  /// Whether both have the same bytes. The duration reveals only their lengths.
  public static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.withUnsafeBytes { first in b.withUnsafeBytes { equal(first, $0) } }
  }
}
