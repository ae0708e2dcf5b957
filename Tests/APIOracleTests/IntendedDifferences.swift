import CampanileCodec
import SwiftProtobuf
import TestMessages

/// Intended differences between the codec and swift-protobuf 1.39. Any other difference is a bug.
enum IntendedDifferences {
  /// An unknown enum name: the oracle leaves the field out, and the codec reads a number of its own.
  static func hasUnknownEnumName(_ ourJSON: [UInt8]) -> Bool {
    String(decoding: ourJSON, as: UTF8.self).contains(String(JSONReader.unknownEnumNumber))
  }

  /// Whether the codec alone may refuse `text`.
  static func codecMayRefuse(_ error: ProtoJSONError, _ text: String) -> Bool {
    if isUncheckedBase64(error, text) { return true }
    return switch error.code {
    // A gateway and a service must never disagree about which of two values applies.
    case .duplicateField, .oneofConflict: true
    // swift-protobuf accepts 64-bit enum numbers and truncates them.
    case .outOfRange: error.message.contains("outside int32")
    // swift-protobuf accepts spaces in Base64, and a `@type` without a name after its last slash.
    case .invalidFormat:
      error.message.contains("not base64") && text.contains(" ")
        || error.message.contains("with a type URL") && text.contains("/\"")
    // swift-protobuf converts an integer with an exponent or fraction to a double, which rounds; a tiny one becomes 0.
    // It also accepts null for an enum in a map, but for no other value there.
    case .wrongType:
      error.message.contains("expected an integer")
        && (text.lowercased().contains("e-") || hasRoundedFraction(text) || error.fieldPath.contains("olor"))
    // The codec also checks an Any, which it keeps as text; swift-protobuf skips to the end of an Any.
    case .syntax, .loneSurrogate, .invalidUTF8: isInsideAny(error)
    default: false
    }
  }

  /// Whether a double would round a fraction in `text`, possibly to an integer.
  private static func hasRoundedFraction(_ text: String) -> Bool {
    text.matches(of: #/\d+\.\d+/#).contains { $0.output.count > 15 }
  }

  /// Whether the codec refuses a bytes value that swift-protobuf does not check.
  ///
  /// With fewer than two Base64 digits, swift-protobuf reads any characters as empty bytes, even those that a JSON
  /// string may not contain.
  private static func isUncheckedBase64(_ error: ProtoJSONError, _ text: String) -> Bool {
    let isText = error.code == .syntax || error.code == .invalidUTF8
    guard isText || error.code == .invalidFormat && error.message.contains("not base64"),
      withoutPlainEscapes(error.fieldPath).lowercased().contains("byte")
    else { return false }
    // The error is at the first byte of the string, or inside it.
    let bytes = Array(text.utf8)
    guard let start = bytes.prefix(error.byteOffset + 1).lastIndex(of: UInt8(ascii: "\"")) else { return false }
    let digits = bytes[(start + 1)...].prefix { $0 != UInt8(ascii: "\"") }.count {
      (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || "+/-_".utf8.contains($0)
    }
    return digits < 2
  }

  /// Whether an error is inside an Any. The path quotes a key that was written with escapes.
  private static func isInsideAny(_ error: ProtoJSONError) -> Bool {
    let path = withoutPlainEscapes(error.fieldPath)
    return path.hasPrefix("any") || path.hasPrefix("[\"any\"]")
  }

  /// Whether the oracle alone may refuse `text`.
  ///
  /// It also checks the range of numbers in fields that it skips. It converts an integer with an exponent to a double,
  /// which rounds one near 2^64, such as `1844674407370955161e1`, to 2^64.
  static func oracleMayRefuse(_ text: String) -> Bool { text.contains(#/[eE]\+?\d{3,}|\d{17,}[eE]\+?\d/#) }

  /// Whether the two codecs may read different values.
  static func mayDiffer(_ text: String) -> Bool {
    // As above: `900719925474099e2` is exact in the codec and rounded in swift-protobuf.
    text.contains(#/\d{10,}[eE]\d/#)
  }

  /// Whether the oracle failed to write an Any that the codec kept.
  static func oracleMayRefuseReply(_ error: any Error) -> Bool {
    // The codec parses the payload of an Any only when it is unpacked.
    String(describing: error).contains("anyTranscodeFailure")
  }

  /// Whether the oracle would trap when it writes `message`, which it has read from JSON.
  ///
  /// swift-protobuf accepts 64-bit enum numbers in JSON. It reserves space for the varint of the lower 32 bits, but
  /// writes all 64 bits, beyond its buffer. The codec refuses such a number, but parses an Any only when it is
  /// unpacked. Of the messages here, only `WellKnown` has an Any, and of its payloads only `Scalars` has an enum.
  static func oracleWouldTrap(on message: any SwiftProtobuf.Message) -> Bool {
    guard let any = (message as? Campanile_Testing_V1_WellKnown)?.any,
      let held = try? Campanile_Testing_V1_Scalars(unpackingAny: any)
    else { return false }
    return Int32(exactly: held.color.rawValue) == nil
  }

  /// A fault in the codec's handling of such a message, or nil. It must keep the text, and refuse to unpack it.
  static func faultWithoutOracle<Ours: ProtoMessage>(_ ours: Ours) -> String? {
    guard let again = try? Ours(jsonUTF8: ours.jsonUTF8Bytes()), again == ours else { return "it is not kept" }
    guard let held = (ours as? WellKnown)?.any, held.typeURL.hasSuffix("/" + Scalars.protoFullName) else { return nil }
    do throws(ProtoJSONError) {
      _ = try held.unpack(as: Scalars.self)
      return "an enum number beyond int32 is unpacked"
    } catch { return nil }
  }

  /// Resolves the `\u` escapes of letters and digits, because the oracle refuses them in Base64 and after a sign.
  ///
  /// The text has the same meaning for the codec.
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
