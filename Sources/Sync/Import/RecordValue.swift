import CampanileCodec
import CampanileJSON

/// Reads the values of records: JSON that is given directly or as a text, and times in two forms.
enum RecordValue {
  /// Returns the time of an RFC 3339 text; nil for other texts.
  static func time(_ text: String) -> ProtoTimestamp? {
    try? ProtoTimestamp(jsonString: JSONValue.string(text).serialisedText)
  }

  /// Returns the RFC 3339 text of a time in milliseconds since 1970 or in RFC 3339; nil for other values.
  static func timeText(_ value: JSONValue) -> String? {
    switch value {
    case .number(let number):
      let milliseconds = number.double
      // The years 1 to 9999.
      guard (-62_135_596_800_000...253_402_300_799_999).contains(milliseconds) else { return nil }
      return text(ProtoTimestamp(millisecondsSince1970: Int64(milliseconds)))
    case .string(let text): return time(text.value).map(self.text)
    default: return nil
    }
  }

  /// Returns the JSON inside a text, or the value itself; nil if the text is not JSON.
  static func nested(_ value: JSONValue) -> JSONValue? {
    guard let text = value.text else { return value }
    return try? JSONValue.parse(text)
  }

  private static func text(_ time: ProtoTimestamp) -> String {
    // The JSON form has quotes.
    String(time.jsonString().dropFirst().dropLast())
  }
}

extension JSONValue {
  fileprivate var serialisedText: String { String(decoding: serialised(), as: UTF8.self) }
}
