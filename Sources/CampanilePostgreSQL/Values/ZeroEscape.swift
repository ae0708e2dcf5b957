/// Stores U+0000 in texts, which PostgreSQL refuses, as U+0001 and `0`; and U+0001 itself as U+0001 and `1`. Other
/// texts stay as they are.
enum ZeroEscape {
  private static let mark: UInt8 = 1

  /// Returns the stored form of a text; nil if it is the text itself.
  static func stored(_ text: inout String) -> String? {
    text.withUTF8 { bytes in
      guard bytes.contains(where: { $0 <= mark }) else { return nil }
      let escaped = bytes.flatMap { $0 <= mark ? [mark, UInt8(ascii: "0") + $0] : [$0] }
      return String(decoding: escaped, as: UTF8.self)
    }
  }

  /// Returns the text of a stored form; nil if it is the form itself.
  static func text(_ stored: UnsafeRawBufferPointer) -> [UInt8]? {
    guard stored.contains(mark) else { return nil }
    var text: [UInt8] = []
    var isEscaped = false
    for byte in stored {
      if byte == mark {
        isEscaped = true
      } else {
        text.append(isEscaped ? byte &- UInt8(ascii: "0") : byte)
        isEscaped = false
      }
    }
    return text
  }
}
