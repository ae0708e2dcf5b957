import CampanileCodec
import CampanileRPC
import NIOCore

/// Server-sent events (the HTML standard, section 9.2).
///
/// A message of the stream is an event without a name: its JSON in `data`, and where it has a resume token that as `id`, which a
/// browser sends back as `Last-Event-ID`. `end` follows the last message and `failure` tells why the stream broke; both
/// mean that reconnecting at once is of no use, which a page tells its EventSource by closing it.
enum EventWriter {
  static let contentType = "text/event-stream"
  /// How long a browser waits before it connects again.
  static let retryMs = 2000

  static func writeOpening(to buffer: inout ByteBuffer) { buffer.writeString("retry: \(retryMs)\n: open\n\n") }
  static func writePing(to buffer: inout ByteBuffer) { buffer.writeStaticString(": ping\n\n") }

  /// - Parameter token: the JSON name of the member whose text becomes the event's id.
  static func write(_ message: UnsafeRawBufferPointer, token: String?, to buffer: inout ByteBuffer) {
    if let token, let id = id(of: message, token) { buffer.writeString("id: \(id)\n") }
    writeData(message, to: &buffer)
  }

  static func writeEnd(to buffer: inout ByteBuffer) { buffer.writeStaticString("event: end\ndata: {}\n\n") }

  static func writeFailure(_ error: RPCError, to buffer: inout ByteBuffer) {
    buffer.writeStaticString("event: failure\n")
    var writer = JSONWriter()
    ErrorBody.rest(error, status: HTTPStatusCode.ofREST(error, hasCondition: false), to: &writer)
    writer.withUnsafeBytes { writeData($0, to: &buffer) }
  }

  /// An id must not hold line breaks or a null character; such a token is left out rather than cut.
  private static func id(of message: UnsafeRawBufferPointer, _ token: String) -> String? {
    guard let members = RawJSON.members(message, 0..<message.count),
      let member = members.first(where: { $0.name == token }), let text = RawJSON.string(message, member.value),
      !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
    else { return nil }
    return text
  }

  /// A line break would end the field.
  private static func writeData(_ json: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) {
    buffer.writeStaticString("data: ")
    if json.isEmpty {
      buffer.writeStaticString("{}")
    } else if json.contains(where: { $0 == 0x0A || $0 == 0x0D }) {
      // Line breaks in JSON stand between its tokens only.
      for byte in json { buffer.writeInteger(byte == 0x0A || byte == 0x0D ? 0x20 : byte) }
    } else {
      buffer.writeBytes(json)
    }
    buffer.writeStaticString("\n\n")
  }
}
