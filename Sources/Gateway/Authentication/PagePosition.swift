import CampanileBase
import CampanileRPC

/// The position of a page of keys, sessions or events, as an opaque token, valid only for the list that it was created
/// for.
enum PagePosition {
  static func encode(kind: String, number: Int64, id: String) -> String {
    Base64URL.encode(Array("1:\(kind):\(number):\(id)".utf8))
  }

  /// Decodes a page token; `nil` for an empty one.
  ///
  /// - Throws: INVALID_ARGUMENT `PAGE_TOKEN_INVALID` if the token is malformed or of another list.
  static func decode(_ token: String, kind: String) throws(RPCError) -> (number: Int64, id: String)? {
    if token.isEmpty { return nil }
    let parts = Base64URL.decode(token).map { String(decoding: $0, as: UTF8.self) }?
      .split(separator: ":", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
    guard let parts, parts.count == 4, parts[0] == "1", parts[1] == kind, let number = Int64(parts[2]),
      parts[3].utf8.count <= 64
    else { throw .invalidField("pageToken", "must be a page token of this list", reason: "PAGE_TOKEN_INVALID") }
    return (number, parts[3])
  }
}
