package import NIOCore
package import NIOHTTP1

/// A request to a page, with its complete body.
package struct PageRequest: Sendable {
  package let head: HTTPRequestHead
  package let body: ByteBuffer
}

/// A complete response.
package struct PageResponse: Sendable {
  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]

  package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// The plan for a request, made from its head.
package struct PagePlan: Sendable {
  /// Maximum size of the request's body; nil if the body is discarded. Then the response may precede its end.
  package var bodyBytesMax: Int?
  /// The response to a longer body.
  package var tooLarge: PageResponse
  package var respond: @Sendable (PageRequest) async -> PageResponse

  /// Collects the body, then responds.
  package init(
    bodyBytesMax: Int, tooLarge: PageResponse, respond: @escaping @Sendable (PageRequest) async -> PageResponse
  ) {
    self.bodyBytesMax = bodyBytesMax
    self.tooLarge = tooLarge
    self.respond = respond
  }

  /// Responds regardless of the body.
  package init(respond: @escaping @Sendable (PageRequest) async -> PageResponse) {
    bodyBytesMax = nil
    tooLarge = PageResponse(status: 413)
    self.respond = respond
  }
}

/// The path and query of a request's target, which may be in absolute form (RFC 9112 section 3.2.2).
package struct PageTarget: Sendable, Hashable {
  package let path: String
  /// The target in origin form: the path and the undecoded query.
  package let origin: String
  /// Query parameters with decoded values; the last value of each name counts.
  package let query: [String: String]

  package init(_ uri: String) {
    var rest = uri[...]
    if !rest.hasPrefix("/"), let scheme = rest.firstRange(of: "://") {
      rest = rest[scheme.upperBound...]
      rest = rest[(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)...]
    }
    let path = rest.prefix { $0 != "?" }
    self.path = path.isEmpty ? "/" : String(path)
    origin = (path.isEmpty ? "/" : "") + String(rest)
    let pairs = rest.dropFirst(path.count + 1).prefix { $0 != "#" }.split(separator: "&").map { pair in
      let name = pair.prefix { $0 != "=" }
      let value = pair.dropFirst(name.count + 1)
      return (String(name), Self.decoded(value) ?? String(value))
    }
    query = Dictionary(pairs) { _, last in last }
  }

  /// Decodes percent-encoded UTF-8; nil if it is invalid.
  private static func decoded(_ text: Substring) -> String? {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2)
      guard digits.count == 2, digits.first != UInt8(ascii: "+"), digits.first != UInt8(ascii: "-"),
        let decoded = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
      else {
        return nil
      }
      bytes.append(decoded)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
