/// Base64 with the URL- and filename-safe alphabet, without padding (RFC 4648 section 5).
public enum Base64URL {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// The text of `bytes`: four characters for each three bytes, two or three for the rest.
  public static func encode(_ bytes: [UInt8]) -> String {
    var out: [UInt8] = []
    out.reserveCapacity((bytes.count * 4 + 2) / 3)
    var index = 0
    while index < bytes.count {
      let taken = min(3, bytes.count - index)
      var group: UInt32 = 0
      for offset in 0..<3 { group = group << 8 | (offset < taken ? UInt32(bytes[index + offset]) : 0) }
      for character in 0...taken { out.append(alphabet[Int(group >> (18 - 6 * UInt32(character)) & 63)]) }
      index += taken
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// The bytes of `text`. `nil` for other characters, padding, a length that no bytes have, and for set bits after the last
  /// byte, so that each value has one text only.
  public static func decode(_ text: String) -> [UInt8]? {
    var out: [UInt8] = []
    var bits: UInt32 = 0
    var bitCount = 0
    var characterCount = 0
    for byte in text.utf8 {
      guard let value = value(of: byte) else { return nil }
      bits = (bits << 6 | UInt32(value)) & 0xFFFF
      bitCount += 6
      characterCount += 1
      if bitCount >= 8 {
        bitCount -= 8
        out.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
      }
    }
    guard characterCount % 4 != 1, bits & (1 << UInt32(bitCount) - 1) == 0 else { return nil }
    return out
  }

  private static func value(of byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
