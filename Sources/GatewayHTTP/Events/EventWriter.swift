import CampanileBase
import CampanileCodec
import CampanileRPC
import NIOCore

/// Writes server-sent events (the HTML standard, section 9.2).
///
/// A message of the stream is an unnamed event with its JSON in `data`. Its resume token, if it has one, becomes the
/// `id`, which a browser sends back as `Last-Event-ID`. The event `end` follows the last message; `failure` reports the
/// error that ended the stream. After either, a page should close its EventSource, because reconnecting at once is
/// pointless.
enum EventWriter {
  static let contentType = "text/event-stream"
  /// Delay before a browser reconnects.
  static let retryMs = 2000

  static func writeOpening(to buffer: inout ByteBuffer) { buffer.writeString("retry: \(retryMs)\n: open\n\n") }
  static func writePing(to buffer: inout ByteBuffer) { buffer.writeStaticString(": ping\n\n") }

  /// Writes a message as an event.
  ///
  /// - Parameter token: JSON name of the member whose text becomes the event's id.
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

  /// Returns the event's id. A token with spaces or control characters is left out instead of truncated.
  private static func id(of message: UnsafeRawBufferPointer, _ token: String) -> String? {
    guard let members = RawJSON.members(message, 0..<message.count),
      let member = members.first(where: { $0.name == token }), let text = RawJSON.string(message, member.value),
      !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
    else { return nil }
    return text
  }

  /// Writes the `data` field. Line breaks would end it, so they are replaced by spaces.
  private static func writeData(_ json: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) {
    buffer.writeStaticString("data: ")
    if json.isEmpty {
      buffer.writeStaticString("{}")
    } else if json.contains(where: { $0 == 0x0A || $0 == 0x0D }) {
      // Line breaks in JSON occur only between tokens.
      for byte in json { buffer.writeInteger(byte == 0x0A || byte == 0x0D ? 0x20 : byte) }
    } else {
      buffer.writeBytes(json)
    }
    buffer.writeStaticString("\n\n")
  }
}
