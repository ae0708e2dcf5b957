/// A number's 16 hexadecimal digits in lower case, most significant first: half of a trace id or of a request id.
public struct HexadecimalDigits: Sendable {
  /// The text, eight digits each, in memory order.
  @usableFromInline let digits: (UInt64, UInt64)

  @inlinable
  @inline(__always)
  public init(_ value: UInt64) {
    digits = (Self.text(UInt32(value >> 32)), Self.text(UInt32(truncatingIfNeeded: value)))
  }

  /// Converts eight digits at once, because a gateway assigns an id to every call.
  @inlinable
  @inline(__always)
  static func text(_ value: UInt32) -> UInt64 {
    var nibbles = UInt64(value)
    nibbles = (nibbles | nibbles << 16) & 0x0000_ffff_0000_ffff
    nibbles = (nibbles | nibbles << 8) & 0x00ff_00ff_00ff_00ff
    nibbles = (nibbles | nibbles << 4) & 0x0f0f_0f0f_0f0f_0f0f
    // 1 in each byte whose nibble is at least 10.
    let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    let text = nibbles | 0x3030_3030_3030_3030
    return (text &+ letters &* UInt64(UInt8(ascii: "a") - UInt8(ascii: "9") - 1)).bigEndian
  }

  @inlinable
  @inline(__always)
  public func append(to bytes: inout [UInt8]) {
    withUnsafeBytes(of: digits) { bytes.append(contentsOf: $0) }
  }

  /// Writes the digits at `start`; the buffer must have room for 16.
  func write(to text: UnsafeMutableBufferPointer<UInt8>, at start: Int) {
    let bytes = UnsafeMutableRawBufferPointer(text)
    bytes.storeBytes(of: digits.0, toByteOffset: start, as: UInt64.self)
    bytes.storeBytes(of: digits.1, toByteOffset: start + 8, as: UInt64.self)
  }

  public var text: String { withUnsafeBytes(of: digits) { String(decoding: $0, as: UTF8.self) } }
}
