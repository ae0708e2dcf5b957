// Commands print text from other parties, which must not move the cursor, set the clipboard, forge lines or imitate
// other text.
extension Terminal {
  /// Returns whether the character can control a terminal.
  ///
  /// Such characters are controls (C0, DEL, C1), line and paragraph separators, and bidirectional controls.
  static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  /// Returns `text` with unsafe characters escaped as `\u….`.
  ///
  /// - Parameter except: Controls to keep.
  public static func printable(_ text: some StringProtocol, except: Set<Unicode.Scalar> = ["\t"]) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if !isUnsafe(scalar) || except.contains(scalar) {
        result.append(scalar)
      } else {
        result.append(contentsOf: escape(scalar).unicodeScalars)
      }
    }
    return String(result)
  }

  /// Returns JSON text with unsafe characters in its strings escaped as `\u….`, which does not change its value.
  ///
  /// - Parameter json: A token, or text on one line without spaces, so that every control is inside a string.
  static func printableJSON(_ json: some Collection<UInt8>) -> [UInt8] {
    let bytes = Array(json)
    guard bytes.contains(where: beginsUnsafe) else { return bytes }
    return Array(printable(String(decoding: bytes, as: UTF8.self), except: []).utf8)
  }

  /// Returns whether a UTF-8 byte may begin an unsafe character. Most text has no such byte.
  private static func beginsUnsafe(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == 0x7F || byte == 0xC2 || byte == 0xD8 || byte == 0xE2
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
  }
}
