/// The URI fragment representation of a pointer (RFC 6901, section 6).
extension JSONPointer {
  /// Parses a percent-encoded fragment (RFC 3986, section 2.1), with or without its `#`.
  ///
  /// - Throws: `invalidPointer` if the percent-encoding is malformed, or the text is not UTF-8 or not a pointer.
  public init(uriFragment text: String) throws(JSONPointerError) {
    var bytes: [UInt8] = []
    var rest = Substring(text).utf8
    if rest.first == UInt8(ascii: "#") { rest = rest.dropFirst() }
    while let byte = rest.popFirst() {
      if byte != UInt8(ascii: "%") {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(ASCII.hexValue), let low = rest.popFirst().flatMap(ASCII.hexValue) else {
        throw JSONPointerError(.invalidPointer, pointer: text, reason: "'%' is not followed by two digits")
      }
      bytes.append(high << 4 | low)
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw JSONPointerError(.invalidPointer, pointer: text, reason: "the fragment is not UTF-8")
    }
    try self.init(decoded)
  }

  /// The fragment, starting with `#`. Characters that RFC 3986, section 3.5, does not allow are percent-encoded.
  public var uriFragment: String {
    var result = "#"
    for byte in description.utf8 {
      if Self.isAllowed(byte) {
        result.unicodeScalars.append(UnicodeScalar(byte))
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        result += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return result
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "-._~!$&'()*+,;=:@/?".utf8.contains(byte)
    }
  }
}
