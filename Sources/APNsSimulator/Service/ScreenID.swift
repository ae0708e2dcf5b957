import CampanileBase

/// The id of a screen in SimulatorService: its token, or `channel-` and the channel's id in base64url, because a path
/// cannot contain the latter.
enum ScreenID {
  private static let prefix = "channel-"

  static func text(key: String) -> String {
    channelID(key: key).map { prefix + Base64URL.encode(Array($0.utf8)) } ?? key
  }

  /// Returns the key of a screen. There is none for an id that no screen can have.
  static func key(_ id: String) -> String? {
    guard id.hasPrefix(prefix) else { return id.lowercased() }
    return Base64URL.decode(String(id.dropFirst(prefix.count))).map {
      Simulator.State.channelKey(String(decoding: $0, as: UTF8.self))
    }
  }

  /// Returns the channel of a key; nil for a token.
  static func channelID(key: String) -> String? {
    let start = Simulator.State.channelKey("")
    return key.hasPrefix(start) ? String(key.dropFirst(start.count)) : nil
  }
}
