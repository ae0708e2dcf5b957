import CampanileCodec
import CampanileRPC
import CampanileService

/// A page token returns its position only for its own list, and no two texts are the same token.
let pageTokenTarget = FuzzTarget("page-token") { input in
  let text = String(decoding: input, as: UTF8.self)
  for parts in 1...3 {
    var violations = Violations()
    if let position = Paging.position(text, parts: parts, scope: ["list", "ada"], &violations) {
      require(Paging.token(position, scope: ["list", "ada"]).utf8.elementsEqual(text.utf8), "two texts: \(text)")
    }
  }
  if let token = try? ResumeToken(text, user: "ada") {
    require(token.text(user: "ada").utf8.elementsEqual(text.utf8), "two texts: \(text)")
  }
  let position = text.unicodeScalars.split(separator: "\u{0}", maxSplits: 2, omittingEmptySubsequences: false)
    .map { String($0) }.filter { !$0.unicodeScalars.contains("\u{0}") }
  let token = Paging.token(position, scope: ["list", "ada"])
  var violations = Violations()
  let found = Paging.position(token, parts: position.count, scope: ["list", "ada"], &violations)
  if token.utf8.count <= OpaqueToken.sizeMax, !position.isEmpty {
    require(found.map { $0.map { Array($0.utf8) } } == position.map { Array($0.utf8) }, "different position: \(token)")
  }
  require(
    Paging.position(token, parts: position.count, scope: ["list", "bob"], &violations) == nil,
    "accepted another user's token: \(token)")
}
