import CCampanile
import CampanileBase
import CampanileRPC

/// Decompresses one gzip member (RFC 1952) up to a size limit. Connect envelopes are compressed individually, which
/// HTTP's content coding does not cover.
enum Gunzip {
  private static let chunkBytes = 16_384

  /// Returns the decompressed bytes.
  ///
  /// - Throws: INVALID_ARGUMENT `BODY_NOT_DECODED` for invalid data or data after the member; RESOURCE_EXHAUSTED
  ///   `BODY_TOO_LARGE` as soon as the output exceeds `bytesMax`.
  static func decompress(_ bytes: UnsafeRawBufferPointer, bytesMax: Int) throws(RPCError) -> [UInt8] {
    var stream = z_stream()
    // A 15-bit window; 16 selects the gzip header.
    guard campanile_inflate_init(&stream, 31) == Z_OK else {
      throw RPCError(.resourceExhausted, "not enough memory to decompress", reason: "OUT_OF_MEMORY", processed: false)
    }
    defer { inflateEnd(&stream) }
    // zlib does not write to its input.
    stream.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
    stream.avail_in = UInt32(truncatingIfNeeded: min(bytes.count, Int(UInt32.max)))
    var result: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: chunkBytes)
    while true {
      let status = chunk.withUnsafeMutableBufferPointer { buffer in
        stream.next_out = buffer.baseAddress
        stream.avail_out = UInt32(chunkBytes)
        return inflate(&stream, Z_NO_FLUSH)
      }
      let count = chunkBytes - Int(stream.avail_out)
      guard result.count + count <= bytesMax else {
        throw RPCError(
          .resourceExhausted, "the message is longer than \(bytesMax) bytes", reason: "BODY_TOO_LARGE", processed: false
        )
      }
      result.append(contentsOf: chunk[..<count])
      if status == Z_STREAM_END { break }
      // No progress means that the member is cut off.
      guard status == Z_OK, count > 0 || stream.avail_in > 0 else { throw invalid }
    }
    guard stream.avail_in == 0 else { throw invalid }
    return result
  }

  private static let invalid = RPCError(
    .invalidArgument, "the message is not gzip", reason: "BODY_NOT_DECODED", processed: false)
}
