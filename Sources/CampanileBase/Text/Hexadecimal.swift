/// Lower-case hexadecimal text, two digits per byte.
public enum Hexadecimal {
  @inlinable
  public static func text(_ bytes: some Collection<UInt8>) -> String {
    let sizeBytes = 2 * bytes.count
    return String(unsafeUninitializedCapacity: sizeBytes) { buffer in
      var index = 0
      for byte in bytes {
        buffer[index] = digit(byte >> 4)
        buffer[index + 1] = digit(byte & 15)
        index += 2
      }
      return index
    }
  }

  @inlinable
  static func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value }

  /// Decodes lower-case text; nil for an odd number of digits or any other character.
  public static func bytes(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count / 2)
    var high: UInt8?
    for character in text.utf8 {
      guard let value = value(ofDigit: character) else { return nil }
      if let first = high {
        bytes.append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    return high == nil ? bytes : nil
  }

  private static func value(ofDigit character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
