import CampanileCodec
import SwiftProtobuf

/// Where the codec differs from swift-protobuf 1.39 on purpose. Everything else is a mistake.
enum IntendedDifferences {
  /// Texts that only the codec refuses.
  static func codecMayRefuse(_ error: ProtoJSONError, _ text: String) -> Bool {
    switch error.code {
    // A gateway and a service must never disagree about which of two values counts.
    case .duplicateField, .oneofConflict: true
    // swift-protobuf takes enum numbers of 64 bits and cuts them.
    case .outOfRange: error.message.contains("outside int32")
    // swift-protobuf takes spaces in base64, and an unfinished `@type`.
    case .invalidFormat: error.message.contains("not base64") && text.contains(" ")
    // swift-protobuf makes a double of an integer with an exponent, which rounds; a tiny one becomes 0.
    // It also takes null for an enum in a map, and for no other value there.
    case .wrongType:
      error.message.contains("expected an integer")
        && (text.lowercased().contains("e-") || error.fieldPath.contains("olor"))
    // The codec checks what it keeps as text like everything else; swift-protobuf skips to the end of an Any.
    case .syntax, .loneSurrogate, .invalidUTF8: error.fieldPath.hasPrefix("any")
    default: false
    }
  }

  /// Whether two readings may differ.
  static func mayDiffer(_ text: String) -> Bool {
    // As above: `900719925474099e2` is exact here and rounded there.
    text.contains(#/\d{10,}[eE]\d/#)
  }

  /// Whether the codec keeps what the oracle cannot write again.
  static func oracleMayRefuseReply(_ error: any Error) -> Bool {
    // The codec reads the payload of an Any only when it is unpacked.
    String(describing: error).contains("anyTranscodeFailure")
  }

  /// A text that says the same to the codec, for the oracle, which refuses `\u` escapes in base64 and after a sign: with the
  /// escapes of letters and digits resolved.
  static func withoutPlainEscapes(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let backslash = rest.firstIndex(of: "\\") {
      result += rest[..<backslash]
      rest = rest[backslash...]
      if rest.hasPrefix("\\u00"), let code = UInt8(rest.dropFirst(4).prefix(2), radix: 16), code < 0x80,
        Character(UnicodeScalar(code)).isLetter || Character(UnicodeScalar(code)).isNumber
      {
        result.unicodeScalars.append(UnicodeScalar(code))
        rest = rest.dropFirst(6)
      } else {
        result += rest.prefix(2)
        rest = rest.dropFirst(2)
      }
    }
    return result + rest
  }
}
