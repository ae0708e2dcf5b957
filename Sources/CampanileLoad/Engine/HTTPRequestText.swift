internal import NIOCore
internal import NIOHTTP1

/// The encoded head of all requests of a run, without the content length (RFC 9112 section 3).
struct HTTPRequestText: Sendable {
  let head: HTTPRequestHead
  private let text: [UInt8]

  /// Encodes a head.
  ///
  /// - Throws: `LOAD_PLAN_INVALID` for characters that a path or header value must not contain (RFC 9110 section 5.5).
  init(_ head: HTTPRequestHead) throws(LoadError) {
    guard head.uri.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw LoadError(.planInvalid, field: "METHOD", reason: "\(head.uri.debugDescription) is not a valid path")
    }
    self.head = head
    var text = "\(head.method) \(head.uri) HTTP/1.1\r\n"
    for (name, value) in head.headers {
      guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
        throw LoadError(.planInvalid, field: "--header", reason: "the value of \(name) has control characters")
      }
      text += "\(name): \(value)\r\n"
    }
    self.text = Array((text + "content-length: ").utf8)
  }

  /// Replaces the contents of `buffer` by a request with this body.
  func write(body: [UInt8], to buffer: inout ByteBuffer) {
    buffer.clear()
    buffer.writeBytes(text)
    buffer.writeString(String(body.count))
    buffer.writeStaticString("\r\n\r\n")
    buffer.writeBytes(body)
  }
}
