/// A signature of ECDSA with P-256 and SHA-256 in the format of JSON Web Signatures: r and s, 32 bytes each, big-endian
/// (RFC 7518 section 3.4).
public struct ES256Signature: Sendable, Hashable {
  public static let sizeBytes = 64
  private static let numberBytes = 32
  /// A sequence of two tagged integers of up to 33 bytes.
  static let derSizeBytesMax = 72

  /// r and s.
  public let raw: [UInt8]

  /// Nil unless `raw` has 64 bytes. Does not verify the signature.
  public init?(raw: [UInt8]) {
    guard raw.count == Self.sizeBytes else { return nil }
    self.raw = raw
  }

  /// Decodes an `ECDSA-Sig-Value` (RFC 3279 section 2.2.3) in the distinguished encoding.
  ///
  /// - Returns: Nil for anything else: other tags, overlong lengths, negative or padded integers, trailing bytes.
  public init?(der: some Collection<UInt8>) {
    let bytes = Array(der.prefix(Self.derSizeBytesMax + 1))
    guard let signature = bytes.withUnsafeBytes({ ES256Signature(der: $0) }) else { return nil }
    self = signature
  }

  init?(der bytes: UnsafeRawBufferPointer) {
    guard bytes.count <= Self.derSizeBytesMax, bytes.count >= 2, bytes[0] == 0x30, Int(bytes[1]) == bytes.count - 2
    else { return nil }
    var position = 2
    var isValid = false
    let raw = [UInt8](unsafeUninitializedCapacity: Self.sizeBytes) { buffer, count in
      buffer.initialize(repeating: 0)
      count = Self.sizeBytes
      isValid =
        Self.number(bytes, &position, to: UnsafeMutableBufferPointer(rebasing: buffer[..<Self.numberBytes]))
        && Self.number(bytes, &position, to: UnsafeMutableBufferPointer(rebasing: buffer[Self.numberBytes...]))
        && position == bytes.count
    }
    guard isValid else { return nil }
    self.raw = raw
  }

  /// The distinguished encoding, as used by OpenSSL and certificates.
  public var der: [UInt8] {
    let numbers = Self.encoded(raw[..<Self.numberBytes]) + Self.encoded(raw[Self.numberBytes...])
    return [0x30, UInt8(numbers.count)] + numbers
  }

  /// Reads an INTEGER into the end of 32 zero bytes.
  private static func number(
    _ bytes: UnsafeRawBufferPointer, _ position: inout Int, to buffer: UnsafeMutableBufferPointer<UInt8>
  ) -> Bool {
    guard position + 2 < bytes.count, bytes[position] == 0x02 else { return false }
    let count = Int(bytes[position + 1])
    var start = position + 2
    let end = start + count
    guard (1...numberBytes + 1).contains(count), end <= bytes.count, bytes[start] < 0x80 else { return false }
    if bytes[start] == 0, count > 1 {
      // A leading zero is allowed only to keep the number positive.
      guard bytes[start + 1] >= 0x80 else { return false }
      start += 1
    }
    guard end - start <= numberBytes else { return false }
    for index in start..<end { buffer[numberBytes - end + index] = bytes[index] }
    position = end
    return true
  }

  private static func encoded(_ number: ArraySlice<UInt8>) -> [UInt8] {
    var digits = number.drop { $0 == 0 }
    if digits.isEmpty { digits = [0] }
    let isNegative = (digits.first ?? 0) >= 0x80
    return [0x02, UInt8(digits.count + (isNegative ? 1 : 0))] + (isNegative ? [0] : []) + digits
  }
}
