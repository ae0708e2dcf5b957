import CampanileAPI
import CampanileBase
import CampanileRPC
import GatewayHTTP

/// The query parameters of the app, and those of the file that it cannot request yet.
struct KilwinningQuery: Sendable {
  /// The year; 0 means all.
  var year: Int32 = 0
  var status: String?
  /// The language of a file: `lingua=it`, the default, or `lingua=en`.
  var language = LodgeLanguage.italian
  /// The separator of a file: `separatore=virgola` or `separatore=punto-e-virgola`; by default the language's.
  var separator = CsvSeparator.unspecified
  /// Whether a file begins with a byte order mark, which Excel needs: `bom=true`, the default, or `bom=false`.
  var hasByteOrderMark = true

  private static let languages: [(word: String, value: LodgeLanguage)] = [("it", .italian), ("en", .english)]
  private static let separators: [(word: String, value: CsvSeparator)] = [
    ("virgola", .comma), ("punto-e-virgola", .semicolon),
  ]
  private static let booleans: [(word: String, value: Bool)] = [("true", true), ("false", false)]

  /// Throws INVALID_ARGUMENT `FIELD_INVALID` for an invalid value.
  init(_ query: QueryText) throws(RPCError) {
    if let text = query["anno"], !text.isEmpty, text.lowercased() != "tutti" {
      guard text.utf8.count == 4, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int32(text),
        number > 0
      else { throw RPCError.invalidField("anno", "it must be a year or Tutti") }
      year = number
    }
    if let text = query["stato"], !text.isEmpty, text.lowercased() != "tutti" { status = text }
    if let found = try Self.value("lingua", query, Self.languages) { language = found }
    if let found = try Self.value("separatore", query, Self.separators) { separator = found }
    if let found = try Self.value("bom", query, Self.booleans) { hasByteOrderMark = found }
  }

  private static func value<Value>(
    _ name: String, _ query: QueryText, _ table: [(word: String, value: Value)]
  ) throws(RPCError) -> Value? {
    guard let text = query[name] else { return nil }
    guard let value = KilwinningWords.value(text, table) else {
      throw RPCError.invalidField(name, "it must be one of \(table.map(\.word).joined(separator: ", "))")
    }
    return value
  }
}
