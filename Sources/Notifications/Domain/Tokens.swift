import CampanileRPC

/// Where a page ends, and of which list: a token of another list is refused.
struct PageToken {
  /// A digest of the list's filter.
  var filter: UInt64
  /// What the next page begins after.
  var after: String

  var text: String { "p1.\(String(filter, radix: 36)).\(after)" }

  /// `nil` for an empty text. Throws INVALID_ARGUMENT `PAGE_TOKEN_INVALID` for what is no token of this list.
  static func read(_ text: String, filter: UInt64) throws(RPCError) -> String? {
    if text.isEmpty { return nil }
    let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0] == "p1", text.utf8.count <= 1024, UInt64(parts[1], radix: 36) == filter else {
      throw .invalidField("page_token", "is no token of this list", reason: "PAGE_TOKEN_INVALID")
    }
    return String(parts[2])
  }

  /// A digest of what a list is filtered by (FNV-1a). It guards against mix-ups; every query checks the owner itself.
  static func filter(_ parts: String...) -> UInt64 {
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    for part in parts {
      for byte in part.utf8 { digest = (digest ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
      digest = (digest ^ 0xFF) &* 0x0000_0100_0000_01b3
    }
    return digest
  }
}

/// Up to which change a watch has been told: of which database, of which user.
struct WatchToken {
  var epoch: String
  var user: String
  var sequence: Int64

  var text: String { "w1.\(epoch).\(String(PageToken.filter(user), radix: 36)).\(sequence)" }

  /// Throws INVALID_ARGUMENT `RESUME_TOKEN_INVALID` for another user's token or none of this database.
  static func read(_ text: String, epoch: String, user: String) throws(RPCError) -> Int64 {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == "w1", parts[1] == epoch, UInt64(parts[2], radix: 36) == PageToken.filter(user),
      let sequence = Int64(parts[3]), sequence >= 0
    else { throw .invalidField("resume_token", "is no token of this watch", reason: "RESUME_TOKEN_INVALID") }
    return sequence
  }
}
