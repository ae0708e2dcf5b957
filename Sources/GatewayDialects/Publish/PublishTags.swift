/// Tags in ntfy's form: a tag with a known name becomes a symbol before the title, others remain words.
enum PublishTags {
  static let tagsMax = 32

  /// Returns the symbols and the other tags, in their order.
  static func split(_ text: String) -> (symbols: [String], words: [String]) {
    var found: (symbols: [String], words: [String]) = ([], [])
    for part in text.split(separator: ",").prefix(tagsMax) {
      let tag = part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
      let name = String(tag)
      if name.isEmpty { continue }
      if let symbol = symbols[name] { found.symbols.append(symbol) } else { found.words.append(name) }
    }
    return found
  }

  /// The most frequent short codes of ntfy's list.
  private static let symbols: [String: String] = [
    "+1": "\u{1F44D}", "-1": "\u{1F44E}", "warning": "\u{26A0}\u{FE0F}", "rotating_light": "\u{1F6A8}",
    "triangular_flag_on_post": "\u{1F6A9}", "skull": "\u{1F480}", "tada": "\u{1F389}", "partying_face": "\u{1F973}",
    "heavy_check_mark": "\u{2714}\u{FE0F}", "white_check_mark": "\u{2705}", "x": "\u{274C}", "no_entry": "\u{26D4}",
    "no_entry_sign": "\u{1F6AB}", "loudspeaker": "\u{1F4E2}", "bell": "\u{1F514}", "fire": "\u{1F525}",
    "computer": "\u{1F4BB}", "cd": "\u{1F4BF}", "floppy_disk": "\u{1F4BE}", "email": "\u{1F4E7}", "key": "\u{1F511}",
    "lock": "\u{1F512}", "unlock": "\u{1F513}", "hourglass": "\u{231B}", "rocket": "\u{1F680}", "bug": "\u{1F41B}",
    "package": "\u{1F4E6}", "question": "\u{2753}", "exclamation": "\u{2757}", "information_source": "\u{2139}\u{FE0F}",
    "green_circle": "\u{1F7E2}", "red_circle": "\u{1F534}", "yellow_circle": "\u{1F7E1}", "facepalm": "\u{1F926}",
    "house": "\u{1F3E0}", "battery": "\u{1F50B}", "electric_plug": "\u{1F50C}", "droplet": "\u{1F4A7}",
  ]
}
