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
    var flags: UInt32 = 0
    let result = [UInt8](unsafeUninitializedCapacity: count / 4 * 3 + 3) { buffer, filled in
      filled = digits.withUnsafeBufferPointer { decode(text, count, $0, into: buffer, &flags) }
    }
    return flags & invalid == 0 && flags & bothAlphabets != bothAlphabets ? result : nil
  }

  /// Writes what `count` characters say and answers how many bytes those are. `flags` gathers what was met.
  private static func decode(
    _ text: UnsafeBufferPointer<UInt8>, _ count: Int, _ digits: UnsafeBufferPointer<UInt32>,
    into buffer: UnsafeMutableBufferPointer<UInt8>, _ flags: inout UInt32
  ) -> Int {
    var (place, index) = (0, 0)
    let target = UnsafeMutableRawBufferPointer(buffer)
    // Eight characters are six bytes, written as eight: what is behind them is written later.
    while index + 12 <= count {
      let (high, low) = (quad(text, index, digits), quad(text, index + 4, digits))
      flags |= high | low
      let bits = UInt64(high & 0xFF_FFFF) << 40 | UInt64(low & 0xFF_FFFF) << 16
      target.storeBytes(of: bits.bigEndian, toByteOffset: place, as: UInt64.self)
      place += 6
      index += 8
    }
    while index + 4 <= count {
      let bits = quad(text, index, digits)
      flags |= bits
      buffer[place] = UInt8(truncatingIfNeeded: bits >> 16)
      buffer[place + 1] = UInt8(truncatingIfNeeded: bits >> 8)
      buffer[place + 2] = UInt8(truncatingIfNeeded: bits)
      place += 3
      index += 4
    }
    var bits: UInt32 = 0
    for rest in index..<count {
      let digit = digits[768 + Int(text[rest])]
      flags |= digit
      bits = bits << 6 | digit & 63
    }
    switch count - index {
    case 2:
      buffer[place] = UInt8(truncatingIfNeeded: bits >> 4)
      place += 1
    case 3:
      buffer[place] = UInt8(truncatingIfNeeded: bits >> 10)
      buffer[place + 1] = UInt8(truncatingIfNeeded: bits >> 2)
      place += 2
    default: break
    }
    return place
  }

  /// The 24 bits that four characters say, with the flags of all of them.
  @inline(__always)
  private static func quad(
    _ text: UnsafeBufferPointer<UInt8>, _ index: Int, _ digits: UnsafeBufferPointer<UInt32>
  ) -> UInt32 {
    digits[Int(text[index])] | digits[256 + Int(text[index + 1])] | digits[512 + Int(text[index + 2])]
      | digits[768 + Int(text[index + 3])]
  }

  private static let invalid: UInt32 = 1 << 31
  private static let bothAlphabets: UInt32 = 3 << 29

  /// The value of each byte, with a bit for those that only one of the alphabets has, and one for those that none has: in the
  /// place of the first of four characters, then of the second, the third and the fourth.
  private static let digits: [UInt32] = [18, 12, 6, 0].flatMap { shift in
    (UInt8.min...UInt8.max).map { byte in (value(byte) & 63) << shift | value(byte) & ~63 }
  }

  private static func value(_ byte: UInt8) -> UInt32 {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62 | 1 << 29
    case UInt8(ascii: "/"): 63 | 1 << 29
    case UInt8(ascii: "-"): 62 | 1 << 30
    case UInt8(ascii: "_"): 63 | 1 << 30
    default: invalid
    }
  }

  /// Two characters for each 12 bits, the first in the lower byte.
  private static let pairs: [UInt16] = (0..<4_096).map { bits in
    UInt16(alphabet.utf8Start[bits >> 6]) | UInt16(alphabet.utf8Start[bits & 63]) << 8
  }

  /// Appends `bytes` in base64 with padding to `writer`.
  static func encode(_ bytes: [UInt8], to writer: inout JSONWriter) {
    let table = alphabet.utf8Start
    var index = bytes.withUnsafeBytes { encodeSixes($0, to: &writer) }
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

  /// Encodes six bytes at a time, of which it reads eight, and answers how many it has encoded.
  private static func encodeSixes(_ bytes: UnsafeRawBufferPointer, to writer: inout JSONWriter) -> Int {
    guard bytes.count >= 8 else { return 0 }
    let steps = (bytes.count - 2) / 6
    writer.reserve(8 * steps)
    return pairs.withUnsafeBufferPointer { pairs in
      for step in 0..<steps {
        let word = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 6 * step, as: UInt64.self))
        let low = UInt64(pairs[Int(word >> 52)]) | UInt64(pairs[Int(word >> 40 & 0xFFF)]) << 16
        let high = UInt64(pairs[Int(word >> 28 & 0xFFF)]) | UInt64(pairs[Int(word >> 16 & 0xFFF)]) << 16
        writer.appendReserved(littleEndian: low | high << 32)
      }
      return 6 * steps
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
