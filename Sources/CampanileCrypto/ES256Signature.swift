/// A signature of ECDSA with P-256 and SHA-256 as JSON Web Signatures write it: r and s, 32 bytes each, big-endian
/// (RFC 7518 section 3.4).
public struct ES256Signature: Sendable, Hashable {
  public static let sizeBytes = 64
  private static let numberBytes = 32
  /// Two tagged numbers of up to 33 bytes in a sequence.
  static let derSizeBytesMax = 72

  /// r and s.
  public let raw: [UInt8]

  /// `nil` unless there are 64 bytes. Whether they are a signature only a key can tell.
  public init?(raw: [UInt8]) {
    guard raw.count == Self.sizeBytes else { return nil }
    self.raw = raw
  }

  /// The signature that `der` encodes: an `ECDSA-Sig-Value` (RFC 3279 section 2.2.3) in distinguished encoding.
  /// `nil` for anything else: other tags, longer lengths than needed, negative or padded numbers, bytes behind it.
  public init?(der: some Collection<UInt8>) {
    let bytes = Array(der)
    guard bytes.count <= Self.derSizeBytesMax, bytes.count >= 2, bytes[0] == 0x30, Int(bytes[1]) == bytes.count - 2
    else {
      return nil
    }
    var position = 2
    guard let r = Self.number(bytes, &position), let s = Self.number(bytes, &position), position == bytes.count else {
      return nil
    }
    raw = r + s
  }

  /// The distinguished encoding, which OpenSSL and certificates use.
  public var der: [UInt8] {
    let numbers = Self.encoded(raw[..<Self.numberBytes]) + Self.encoded(raw[Self.numberBytes...])
    return [0x30, UInt8(numbers.count)] + numbers
  }

  /// One INTEGER as 32 bytes.
  private static func number(_ bytes: [UInt8], _ position: inout Int) -> [UInt8]? {
    guard position + 2 < bytes.count, bytes[position] == 0x02 else { return nil }
    let count = Int(bytes[position + 1])
    let start = position + 2
    guard (1...numberBytes + 1).contains(count), start + count <= bytes.count else { return nil }
    var digits = bytes[start..<start + count]
    position = start + count
    guard let first = digits.first, first < 0x80 else { return nil }
    if first == 0, count > 1 {
      // A leading zero is there only to keep the number positive.
      guard bytes[start + 1] >= 0x80 else { return nil }
      digits = digits.dropFirst()
    }
    guard digits.count <= numberBytes else { return nil }
    return [UInt8](repeating: 0, count: numberBytes - digits.count) + digits
  }

  private static func encoded(_ number: ArraySlice<UInt8>) -> [UInt8] {
    var digits = number.drop { $0 == 0 }
    if digits.isEmpty { digits = [0] }
    let isNegative = (digits.first ?? 0) >= 0x80
    return [0x02, UInt8(digits.count + (isNegative ? 1 : 0))] + (isNegative ? [0] : []) + digits
  }
}
