/// Base64 (RFC 4648, section 4) and base64url (section 5).
public enum Base64 {
  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

  /// Decodes `text` in either alphabet, with or without padding; returns nil if it is invalid.
  ///
  /// Mixed alphabets, wrong padding, white space and a single left-over character are rejected.
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

  /// Decodes `count` characters into `buffer` and returns the number of bytes. `flags` collects the flags of all
  /// characters.
  private static func decode(
    _ text: UnsafeBufferPointer<UInt8>, _ count: Int, _ digits: UnsafeBufferPointer<UInt32>,
    into buffer: UnsafeMutableBufferPointer<UInt8>, _ flags: inout UInt32
  ) -> Int {
    var (place, index) = (0, 0)
    let target = UnsafeMutableRawBufferPointer(buffer)
    // Eight characters are six bytes, written as eight: the two excess bytes are overwritten later.
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

  /// Returns the 24 bits of four characters, with the flags of all of them.
  @inline(__always)
  private static func quad(
    _ text: UnsafeBufferPointer<UInt8>, _ index: Int, _ digits: UnsafeBufferPointer<UInt32>
  ) -> UInt32 {
    digits[Int(text[index])] | digits[256 + Int(text[index + 1])] | digits[512 + Int(text[index + 2])]
      | digits[768 + Int(text[index + 3])]
  }

  private static let invalid: UInt32 = 1 << 31
  private static let bothAlphabets: UInt32 = 3 << 29

  /// The value of each byte, plus flags for bytes of only one alphabet and for bytes of neither. There are four tables,
  /// one for each position in a group of four characters.
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

  /// The two characters for each 12-bit value, the first in the lower byte.
  private static let pairs: [UInt16] = (0..<4_096).map { bits in
    UInt16(alphabet.utf8Start[bits >> 6]) | UInt16(alphabet.utf8Start[bits & 63]) << 8
  }

  /// The length of `count` bytes in base64 with padding.
  @inlinable
  public static func encodedSizeBytes(_ count: Int) -> Int { (count + 2) / 3 * 4 }

  /// Writes `bytes` in base64 with padding to `target`, which must have room for `encodedSizeBytes(bytes.count)` bytes.
  public static func encode(_ bytes: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>) {
    let table = alphabet.utf8Start
    var index = encodeSixes(bytes, to: target)
    var place = target + index / 3 * 4
    while index + 2 < bytes.count {
      let bits = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
      set(place, table[bits >> 18], table[bits >> 12 & 63], table[bits >> 6 & 63], table[bits & 63])
      place += 4
      index += 3
    }
    let pad = UInt8(ascii: "=")
    switch bytes.count - index {
    case 1:
      let bits = Int(bytes[index]) << 4
      set(place, table[bits >> 6], table[bits & 63], pad, pad)
    case 2:
      let bits = Int(bytes[index]) << 10 | Int(bytes[index + 1]) << 2
      set(place, table[bits >> 12], table[bits >> 6 & 63], table[bits & 63], pad)
    default: break
    }
  }

  @inline(__always)
  private static func set(_ place: UnsafeMutablePointer<UInt8>, _ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) {
    place[0] = a
    place[1] = b
    place[2] = c
    place[3] = d
  }

  /// Encodes six bytes at a time, reading eight, and returns the number of bytes encoded.
  private static func encodeSixes(_ bytes: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>) -> Int {
    guard bytes.count >= 8 else { return 0 }
    let steps = (bytes.count - 2) / 6
    let place = UnsafeMutableRawPointer(target)
    return pairs.withUnsafeBufferPointer { pairs in
      for step in 0..<steps {
        let word = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 6 * step, as: UInt64.self))
        let low = UInt64(pairs[Int(word >> 52)]) | UInt64(pairs[Int(word >> 40 & 0xFFF)]) << 16
        let high = UInt64(pairs[Int(word >> 28 & 0xFFF)]) | UInt64(pairs[Int(word >> 16 & 0xFFF)]) << 16
        place.storeBytes(of: (low | high << 32).littleEndian, toByteOffset: 8 * step, as: UInt64.self)
      }
      return 6 * steps
    }
  }
}

extension Base64 {
  /// Decodes `text`; returns nil if it is not base64. See `decode(_:)` for bytes.
  public static func decode(_ text: String) -> [UInt8]? {
    var copy = text
    return copy.withUTF8 { decode($0) }
  }

  /// Returns `bytes` in base64 with padding.
  public static func text(_ bytes: [UInt8]) -> String {
    let sizeBytes = encodedSizeBytes(bytes.count)
    return String(unsafeUninitializedCapacity: sizeBytes) { buffer in
      if let start = buffer.baseAddress { bytes.withUnsafeBytes { encode($0, to: start) } }
      return sizeBytes
    }
  }
}
