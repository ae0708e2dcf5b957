import CampanileCodec

/// The texts and the sound of a payload, without the content of a Live Activity. Members of another type are ignored.
struct AlertContent: Sendable, Hashable {
  var title = ""
  var subtitle = ""
  var body = ""
  var sound = ""
  var category = ""
  var threadID = ""
  var interruptionLevel = ""
  var badge: Int32?
  private var hasAlert = false

  /// Whether the push alerts: it has a text or a sound.
  var isAlerting: Bool { hasAlert || !sound.isEmpty }

  /// Returns empty contents for a payload that is not JSON.
  init(_ payload: [UInt8]) {
    _ = try? Self.members(of: String(decoding: payload, as: UTF8.self)) { name, raw in
      if name == "aps" { _ = try? Self.members(of: raw) { readAPS($0, $1) } }
    }
  }

  private mutating func readAPS(_ name: String, _ raw: String) {
    switch name {
    case "alert":
      hasAlert = true
      if let text = Self.text(raw) { return body = text }
      _ = try? Self.members(of: raw) { readAlert($0, $1) }
    case "sound":
      if let text = Self.text(raw) { return sound = text }
      _ = try? Self.members(of: raw) { if $0 == "name" { sound = Self.text($1) ?? "" } }
    case "category": category = Self.text(raw) ?? ""
    case "thread-id": threadID = Self.text(raw) ?? ""
    case "interruption-level": interruptionLevel = Self.text(raw) ?? ""
    case "badge": badge = Int32(raw)
    default: break
    }
  }

  private mutating func readAlert(_ name: String, _ raw: String) {
    switch name {
    case "title": title = Self.text(raw) ?? ""
    case "subtitle": subtitle = Self.text(raw) ?? ""
    case "body": body = Self.text(raw) ?? ""
    // A Live Activity's alert has its sound inside.
    case "sound": sound = Self.text(raw) ?? ""
    default: break
    }
  }

  /// Calls `member` with the name and the JSON text of each member of an object.
  private static func members(of json: String, _ member: (String, String) -> Void) throws {
    var json = json
    try json.withUTF8 { bytes in
      var reader = JSONReader(UnsafeRawBufferPointer(bytes), options: JSONDecodingOptions(maxDepth: 64))
      var more = try reader.beginObject()
      while more {
        member(try reader.stringKey(), try reader.rawValue())
        more = try reader.nextMember()
      }
    }
  }

  /// Returns the value of a JSON text that is a string.
  private static func text(_ json: String) -> String? {
    guard json.utf8.first == UInt8(ascii: "\"") else { return nil }
    var json = json
    return json.withUTF8 { bytes in
      var reader = JSONReader(UnsafeRawBufferPointer(bytes), options: JSONDecodingOptions(maxDepth: 1))
      return try? reader.string()
    }
  }
}
