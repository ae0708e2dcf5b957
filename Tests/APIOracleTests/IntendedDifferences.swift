import CampanileCodec
import SwiftProtobuf
import TestMessages

/// Where the codec differs from swift-protobuf 1.39 on purpose. Everything else is a mistake.
enum IntendedDifferences {
  /// Texts that only the codec refuses.
  static func codecMayRefuse(_ error: ProtoJSONError, _ text: String) -> Bool {
    if isUncheckedBase64(error, text) { return true }
    return switch error.code {
    // A gateway and a service must never disagree about which of two values counts.
    case .duplicateField, .oneofConflict: true
    // swift-protobuf takes enum numbers of 64 bits and cuts them.
    case .outOfRange: error.message.contains("outside int32")
    // swift-protobuf takes spaces in base64, and a `@type` without a name behind its last slash.
    case .invalidFormat:
      error.message.contains("not base64") && text.contains(" ")
        || error.message.contains("with a type URL") && text.contains("/\"")
    // swift-protobuf makes a double of an integer with an exponent or a fraction, which rounds; a tiny one becomes 0.
    // It also takes null for an enum in a map, and for no other value there.
    case .wrongType:
      error.message.contains("expected an integer")
        && (text.lowercased().contains("e-") || text.contains(#/\d{15,}\.\d/#) || error.fieldPath.contains("olor"))
    // The codec checks what it keeps as text like everything else; swift-protobuf skips to the end of an Any.
    case .syntax, .loneSurrogate, .invalidUTF8: isInsideAny(error)
    default: false
    }
  }

  /// Whether the codec refuses a string of bytes at which swift-protobuf does not look: with less than two digits of base64 it takes
  /// any characters, also such as no JSON string may have, for no bytes.
  private static func isUncheckedBase64(_ error: ProtoJSONError, _ text: String) -> Bool {
    let isText = error.code == .syntax || error.code == .invalidUTF8
    guard isText || error.code == .invalidFormat && error.message.contains("not base64"),
      withoutPlainEscapes(error.fieldPath).lowercased().contains("byte")
    else { return false }
    // The error is at the string's first byte, or at one inside of it.
    let bytes = Array(text.utf8)
    guard let start = bytes.prefix(error.byteOffset + 1).lastIndex(of: UInt8(ascii: "\"")) else { return false }
    let digits = bytes[(start + 1)...].prefix { $0 != UInt8(ascii: "\"") }.count {
      (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || "+/-_".utf8.contains($0)
    }
    return digits < 2
  }

  /// A key that was written with escapes is quoted in the path.
  private static func isInsideAny(_ error: ProtoJSONError) -> Bool {
    let path = withoutPlainEscapes(error.fieldPath)
    return path.hasPrefix("any") || path.hasPrefix("[\"any\"]")
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

  /// Whether the oracle would trap if it were to write `message`, which it has read from JSON.
  ///
  /// swift-protobuf takes enum numbers of 64 bits from JSON, makes room for the varint of their lower 32 bits, and writes all 64
  /// into it: beyond its buffer. The codec refuses such a number, but reads what an Any holds only when that is unpacked. Of
  /// the messages here only `WellKnown` has an Any, and of those that one can hold only `Scalars` has an enum.
  static func oracleWouldTrap(on message: any SwiftProtobuf.Message) -> Bool {
    guard let any = (message as? Campanile_Testing_V1_WellKnown)?.any,
      let held = try? Campanile_Testing_V1_Scalars(unpackingAny: any)
    else { return false }
    return Int32(exactly: held.color.rawValue) == nil
  }

  /// What is wrong with the codec's own handling of such a message: it must keep the text, and refuse to unpack it.
  static func faultWithoutOracle<Ours: ProtoMessage>(_ ours: Ours) -> String? {
    guard let again = try? Ours(jsonUTF8: ours.jsonUTF8Bytes()), again == ours else { return "it does not survive" }
    guard let held = (ours as? WellKnown)?.any, held.typeURL.hasSuffix("/" + Scalars.protoFullName) else { return nil }
    do throws(ProtoJSONError) {
      _ = try held.unpack(as: Scalars.self)
      return "an enum number beyond int32 is unpacked"
    } catch { return nil }
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
