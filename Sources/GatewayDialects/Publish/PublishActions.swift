import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import GatewayHTTP

/// Actions in ntfy's short form (`view, Open, https://…; http, Restart, https://…`), in its JSON form, and in Zentik's.
enum PublishActions {
  static let countMax = 16
  static let textBytesMax = 16_384

  /// Parses a text. Throws INVALID_ARGUMENT naming the action and its part.
  ///
  /// - Parameter notes: Receives what has no effect.
  static func parse(_ text: String, _ notes: inout [String]) throws(RPCError) -> [Action] {
    let text = text.trimmingSpaces
    guard text.utf8.count <= textBytesMax else {
      throw .invalidField("actions", "must have at most \(textBytesMax) bytes", .tooLong)
    }
    let isJSON = text.hasPrefix("[") || text.hasPrefix("{")
    let entries = try isJSON ? json(text) : short(text)
    guard entries.count <= countMax else { throw .invalidField("actions", "at most \(countMax)", .tooMany) }
    var actions: [Action] = []
    for (index, entry) in entries.enumerated() {
      actions.append(try action(entry, "actions[\(index)].", &notes))
    }
    return actions
  }

  /// The named parts of one action, in the words of ntfy or Zentik.
  private typealias Entry = [String: String]

  private static func json(_ text: String) throws(RPCError) -> [Entry] {
    let bytes = Array((text.hasPrefix("[") ? text : "[\(text)]").utf8)
    let fields = try JSONFields(Array("{\"actions\":".utf8) + bytes + [UInt8(ascii: "}")])
    var entries: [Entry] = []
    for (index, element) in (try fields.elements("actions", max: countMax) ?? []).enumerated() {
      let item = try JSONFields(element, prefix: "actions[\(index)].")
      var entry: Entry = [:]
      for name in item.names where item.raw(name) != nil {
        // Booleans and objects keep their text: they are compared, or only reported.
        let text = item.raw(name)?.first == UInt8(ascii: "\"") ? try item.string(name) : nil
        entry[name] = text ?? String(decoding: item.raw(name) ?? [], as: UTF8.self)
      }
      entries.append(entry)
    }
    return entries
  }

  /// Parses actions separated by semicolons, whose parts are separated by commas. The first parts need no name: action,
  /// label, URL. Quotes protect separators.
  private static func short(_ text: String) throws(RPCError) -> [Entry] {
    var entries: [Entry] = []
    var entry: Entry = [:]
    var position = 0
    var parser = ShortActionParser(text)
    while let part = try parser.next() {
      let names = ["action", "label", "url"]
      let isNamed = !part.name.isEmpty
      if isNamed || !part.value.isEmpty {
        guard isNamed || position < names.count else {
          throw .invalidField(
            "actions[\(entries.count)]", "the part \(shown(part.value)) has no name", .parameterInvalid)
        }
        let name = isNamed ? part.name : names[position]
        guard entry.updateValue(part.value, forKey: name) == nil else {
          throw .invalidField("actions[\(entries.count)].\(shown(name))", "is given twice", .parameterRepeated)
        }
      }
      position += 1
      guard part.endsAction else { continue }
      if !entry.isEmpty { entries.append(entry) }
      (entry, position) = ([:], 0)
      guard entries.count <= countMax else { break }
    }
    return entries
  }

  private static func action(_ entry: Entry, _ path: String, _ notes: inout [String]) throws(RPCError) -> Action {
    if let type = entry["type"] {
      guard let known = ZentikMessage.actionTypes[type] else {
        let names = ZentikMessage.actionTypes.keys.sorted().joined(separator: ", ")
        throw .invalidField("\(path)type", "must be one of \(names)", .enumUnknown)
      }
      return Action(
        type: known, value: entry["value"] ?? "", destructive: entry["destructive"] == "true",
        title: entry["title"] ?? "", icon: entry["icon"] ?? "")
    }
    guard let label = entry["label"], !label.isEmpty else {
      throw .invalidField("\(path)label", "must be given", .required)
    }
    if let clear = entry["clear"], ["true", "yes", "1"].contains(clear.lowercased()) {
      notes.append("\(path)clear: an action of an app decides itself whether it removes the notification")
    }
    let url = entry["url"] ?? ""
    switch entry["action"]?.lowercased() {
    case "view":
      guard !url.isEmpty else { throw .invalidField("\(path)url", "must be given", .required) }
      return Action(type: .navigate, value: url, title: label)
    case "http":
      guard !url.isEmpty else { throw .invalidField("\(path)url", "must be given", .required) }
      let unsupported = entry.keys.first { $0 == "body" || $0 == "headers" || $0.hasPrefix("headers.") }
      if let unsupported {
        throw .invalidField("\(path)\(unsupported)", "is not supported: use a webhook", .fieldNotAllowed)
      }
      return Action(type: .backgroundCall, value: "\((entry["method"] ?? "POST").uppercased())::\(url)", title: label)
    default:
      throw .invalidField("\(path)action", "must be view or http, or an object with Zentik's type", .enumUnknown)
    }
  }

  private static func shown(_ text: String) -> String { String(text.prefix(64)) }
}

/// Splits the short form of actions into parts.
struct ShortActionParser {
  struct Part: Equatable {
    /// Empty for a part without a name.
    var name = ""
    var value = ""
    /// Whether a semicolon or the end of the text follows.
    var endsAction = false
  }

  private var rest: Substring.UTF8View
  private var isOver = false

  init(_ text: String) { rest = Substring(text).utf8 }

  /// Returns the next part; nil after the last. Throws INVALID_ARGUMENT for an unbalanced quote.
  mutating func next() throws(RPCError) -> Part? {
    if isOver { return nil }
    var part = Part()
    skipSpaces()
    part.name = takeName()
    skipSpaces()
    if let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
      rest = rest.dropFirst()
      part.value = try quoted(quote)
      skipSpaces()
    } else {
      let value = rest.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ";") }
      part.value = (String(value) ?? "").trimmingSpaces
      rest = rest.dropFirst(value.count)
    }
    switch rest.popFirst() {
    case UInt8(ascii: ",")?: break
    case UInt8(ascii: ";")?: part.endsAction = true
    case nil:
      part.endsAction = true
      isOver = true
    default: throw .invalidField("actions", "a comma or semicolon must follow a quoted text", .parameterInvalid)
    }
    return part
  }

  private mutating func skipSpaces() { rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) } }

  /// Takes `name=` if the part begins with it.
  private mutating func takeName() -> String {
    let name = rest.prefix {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    let after = rest.dropFirst(name.count).drop { $0 == 0x20 }
    guard !name.isEmpty, after.first == UInt8(ascii: "=") else { return "" }
    rest = after.dropFirst()
    return String(name) ?? ""
  }

  /// Takes a text up to the quote that ends it. A backslash protects a quote.
  private mutating func quoted(_ quote: UInt8) throws(RPCError) -> String {
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == quote { return String(decoding: bytes, as: UTF8.self) }
      if byte == UInt8(ascii: "\\"), rest.first == quote, let next = rest.popFirst() {
        bytes.append(next)
      } else {
        bytes.append(byte)
      }
    }
    throw .invalidField("actions", "a quote is not closed", .parameterInvalid)
  }
}
