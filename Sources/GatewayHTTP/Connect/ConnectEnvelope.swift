import CampanileBase
import CampanileCodec
import CampanileRPC
import NIOCore

/// The envelopes of a Connect stream: a byte of flags, the length in four bytes, and the message.
enum ConnectEnvelope {
  static let prefixBytes = 5
  static let compressedFlag: UInt8 = 0b01
  static let endFlag: UInt8 = 0b10

  /// Passes the single request message of a server-streaming method to `use`.
  ///
  /// - Parameter isGzip: Whether `connect-content-encoding` declares gzip for compressed envelopes.
  /// - Throws: INVALID_ARGUMENT `ENVELOPE_INVALID` if the body is not exactly one envelope, and the errors of `Gunzip`.
  static func withSingle<R>(
    _ body: UnsafeRawBufferPointer, isGzip: Bool, bytesMax: Int,
    _ use: (UnsafeRawBufferPointer) -> Result<R, RPCError>
  ) throws(RPCError) -> R {
    guard body.count >= prefixBytes else { throw invalid("the body has no complete envelope") }
    guard body[0] & ~compressedFlag == 0 else { throw invalid("the envelope has unknown flags") }
    let length = Int(UInt32(bigEndian: body.loadUnaligned(fromByteOffset: 1, as: UInt32.self)))
    guard length == body.count - prefixBytes else {
      throw invalid("the envelope declares \(length) bytes but the body has \(body.count - prefixBytes)")
    }
    let message = UnsafeRawBufferPointer(rebasing: body[prefixBytes...])
    guard body[0] & compressedFlag != 0 else { return try use(message).get() }
    guard isGzip else { throw invalid("the compressed envelope is not declared as gzip") }
    return try Gunzip.decompress(message, bytesMax: bytesMax).withUnsafeBytes(use).get()
  }

  static func write(_ message: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) {
    let message = message.isEmpty ? nil : message
    buffer.writeInteger(UInt8(0))
    buffer.writeInteger(UInt32(truncatingIfNeeded: message?.count ?? 2))
    if let message { buffer.writeBytes(message) } else { buffer.writeStaticString("{}") }
  }

  static func write(binary message: [UInt8], to buffer: inout ByteBuffer) {
    buffer.writeInteger(UInt8(0))
    buffer.writeInteger(UInt32(truncatingIfNeeded: message.count))
    buffer.writeBytes(message)
  }

  /// Writes the last envelope: `{}`, or the error that ended the stream.
  static func writeEnd(_ error: RPCError?, to buffer: inout ByteBuffer) {
    var writer = JSONWriter()
    let object = writer.beginObject()
    if let error {
      writer.name(",\"error\":")
      ErrorBody.connect(error, to: &writer)
    }
    writer.endObject(object)
    buffer.writeInteger(endFlag)
    buffer.writeInteger(UInt32(truncatingIfNeeded: writer.count))
    writer.withUnsafeBytes { _ = buffer.writeBytes($0) }
  }

  static func invalid(_ why: String) -> RPCError {
    RPCError(.invalidArgument, why, reason: "ENVELOPE_INVALID", processed: false)
  }
}
