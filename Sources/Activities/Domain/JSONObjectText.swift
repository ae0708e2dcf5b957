import CampanileCodec
import CampanileService

/// Rules for JSON texts in requests.
enum JSONObjectText {
  /// Checks that a text is one JSON object without duplicate names. An empty text means that none is given.
  ///
  /// - Returns: Whether the text is an object.
  @discardableResult
  static func object(_ text: String, _ field: String, _ violations: inout Violations) -> Bool {
    if text.isEmpty { return false }
    do throws(ProtoJSONError) {
      _ = try ProtoStruct(json: text)
      return true
    } catch {
      violations.add(field, "must be a JSON object: \(error.message)", .jsonInvalid)
      return false
    }
  }
}
