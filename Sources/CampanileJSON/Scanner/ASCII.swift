/// Classification of ASCII bytes.
enum ASCII {
  @inline(__always)
  static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 <= 9 }

  /// The value of a hexadecimal digit; nil for other bytes.
  @inline(__always)
  static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte &- 0x30 }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter &+ 10 : nil
  }

  static let lowercaseHex = Array("0123456789abcdef".utf8)
}
