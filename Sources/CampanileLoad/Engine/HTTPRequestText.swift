internal import NIOCore
internal import NIOHTTP1

/// The head that all requests of a run have, as it goes out but for the length of the body (RFC 9112 section 3).
struct HTTPRequestText: Sendable {
  let head: HTTPRequestHead
  private let text: [UInt8]

  /// Throws `LOAD_PLAN_INVALID` for what would not stay in its line (RFC 9110 section 5.5).
  init(_ head: HTTPRequestHead) throws(LoadError) {
    guard head.uri.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw LoadError(.planInvalid, field: "METHOD", reason: "\(head.uri.debugDescription) cannot be a path")
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

  /// Fills `buffer` with the request that has this body.
  func write(body: [UInt8], to buffer: inout ByteBuffer) {
    buffer.clear()
    buffer.writeBytes(text)
    buffer.writeString(String(body.count))
    buffer.writeStaticString("\r\n\r\n")
    buffer.writeBytes(body)
  }
}
