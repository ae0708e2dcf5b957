import CZlib
import CampanileRPC

/// Decompresses one gzip member (RFC 1952) into a limit: what envelopes of the Connect protocol carry, which HTTP's own content coding
/// does not reach.
enum Gunzip {
  private static let chunkBytes = 16_384

  /// Throws INVALID_ARGUMENT `BODY_NOT_DECODED` for other bytes, also behind the member, and RESOURCE_EXHAUSTED `BODY_TOO_LARGE` for
  /// more than `bytesMax`, without making more.
  static func decompress(_ bytes: UnsafeRawBufferPointer, bytesMax: Int) throws(RPCError) -> [UInt8] {
    var stream = z_stream()
    // 15 bits of window, and 16 for gzip's header.
    guard campanile_inflate_init(&stream, 31) == Z_OK else {
      throw RPCError(.resourceExhausted, "there is no memory to decompress", reason: "OUT_OF_MEMORY", processed: false)
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
      // Without progress there is no more to come: the member is cut off.
      guard status == Z_OK, count > 0 || stream.avail_in > 0 else { throw invalid }
    }
    guard stream.avail_in == 0 else { throw invalid }
    return result
  }

  private static let invalid = RPCError(
    .invalidArgument, "the message is not gzip", reason: "BODY_NOT_DECODED", processed: false)
}
