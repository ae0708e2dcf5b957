import CampanileStore

/// The payload of a notification: the sender's number, then a line for each changed name, or `*` for all.
struct Announcement: Hashable {
  /// The server refuses payloads of 8,000 bytes and more.
  static let payloadBytesMax = 7_900
  static let namesMax = 500

  var sender: Int64
  var changes: ChangedNames

  init(sender: Int64, changes: ChangedNames) {
    self.sender = sender
    self.changes = changes
  }

  /// Returns nil for the payload of another program.
  init?(_ payload: String) {
    let lines = payload.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard let first = lines.first, let sender = Int64(first), lines.count > 1 else { return nil }
    self.init(sender: sender, changes: lines[1...] == ["*"] ? .all : .some(Set(lines[1...])))
  }

  var payload: String {
    if case .some(let names) = changes, !names.isEmpty,
      names.allSatisfy({ !$0.contains("\n") && !$0.contains("\0") && $0 != "*" })
    {
      let payload = ([String(sender)] + names.sorted()).joined(separator: "\n")
      if payload.utf8.count <= Self.payloadBytesMax { return payload }
    }
    return "\(sender)\n*"
  }
}
