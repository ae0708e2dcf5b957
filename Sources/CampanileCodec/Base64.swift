/// Base64 (RFC 4648, section 4) and base64url (section 5).
public enum Base64 {
  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

  /// The bytes that `text` says in either alphabet, with or without padding; nil if it is neither.
  ///
  /// Mixed alphabets, wrong padding, white space and a single left-over character are refused.
  public static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    var count = text.count
    var padding = 0
    while padding < 2, count > 0, text[count - 1] == UInt8(ascii: "=") {
      padding += 1
      count -= 1
    }
    guard count % 4 != 1, padding == 0 || (count + padding) % 4 == 0 else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(count * 3 / 4)
    var bits: UInt32 = 0
    var alphabets = 0
    for index in 0..<count {
      guard let value = digit(text[index], &alphabets), alphabets != 3 else { return nil }
      bits = bits << 6 | value
      if index & 3 == 3 {
        result.append(UInt8(truncatingIfNeeded: bits >> 16))
        result.append(UInt8(truncatingIfNeeded: bits >> 8))
        result.append(UInt8(truncatingIfNeeded: bits))
      }
    }
    switch count & 3 {
    case 2: result.append(UInt8(truncatingIfNeeded: bits >> 4))
    case 3:
      result.append(UInt8(truncatingIfNeeded: bits >> 10))
      result.append(UInt8(truncatingIfNeeded: bits >> 2))
    default: break
    }
    return result
  }

  /// The value of one character. Sets bit 0 of `alphabets` for what only base64 has, bit 1 for what only base64url has.
  private static func digit(_ byte: UInt8, _ alphabets: inout Int) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): return UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): return UInt32(byte - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return UInt32(byte - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"), UInt8(ascii: "/"):
      alphabets |= 1
      return byte == UInt8(ascii: "+") ? 62 : 63
    case UInt8(ascii: "-"), UInt8(ascii: "_"):
      alphabets |= 2
      return byte == UInt8(ascii: "-") ? 62 : 63
    default: return nil
    }
  }

  /// Appends `bytes` in base64 with padding to `writer`.
  static func encode(_ bytes: [UInt8], to writer: inout JSONWriter) {
    let table = alphabet.utf8Start
    var index = 0
    while index + 2 < bytes.count {
      let bits = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
      writer.append(table[bits >> 18], table[bits >> 12 & 63], table[bits >> 6 & 63], table[bits & 63])
      index += 3
    }
    let pad = UInt8(ascii: "=")
    switch bytes.count - index {
    case 1:
      let bits = Int(bytes[index]) << 4
      writer.append(table[bits >> 6], table[bits & 63], pad, pad)
    case 2:
      let bits = Int(bytes[index]) << 10 | Int(bytes[index + 1]) << 2
      writer.append(table[bits >> 12], table[bits >> 6 & 63], table[bits & 63], pad)
    default: break
    }
  }
}

extension Base64 {
  /// The bytes that `text` says; nil if it is not base64. See `decode(_:)` over bytes.
  public static func decode(_ text: String) -> [UInt8]? {
    var copy = text
    return copy.withUTF8 { decode($0) }
  }
}
