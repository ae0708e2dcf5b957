import CCampanile

/// Compresses and decompresses single pieces with zlib, so that each can be read on its own.
package enum Deflate {
  package enum Format: Int32 {
    /// RFC 1950, for stored blocks.
    case zlib = 15
    /// RFC 1952, for transferred chunks.
    case gzip = 31
  }

  /// Returns the compressed bytes; nil if they would not be smaller.
  package static func pack(_ bytes: UnsafeRawBufferPointer, _ format: Format) -> [UInt8]? {
    guard bytes.count > 64, bytes.count <= Int(UInt32.max) else { return nil }
    var stream = z_stream()
    guard campanile_deflate_init(&stream, 1, format.rawValue) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    let room = bytes.count - 1
    var code = Z_OK
    let packed = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      stream.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
      stream.avail_in = UInt32(bytes.count)
      stream.next_out = buffer.baseAddress
      stream.avail_out = UInt32(room)
      code = deflate(&stream, Z_FINISH)
      count = room - Int(stream.avail_out)
    }
    return code == Z_STREAM_END ? packed : nil
  }

  /// Returns the decompressed bytes; nil if they exceed `sizeMax`, or if `bytes` is not exactly one complete stream.
  package static func unpack(_ bytes: UnsafeRawBufferPointer, _ format: Format, sizeMax: Int) -> [UInt8]? {
    guard !bytes.isEmpty, bytes.count <= Int(UInt32.max), sizeMax < Int(UInt32.max) else { return nil }
    var stream = z_stream()
    guard campanile_inflate_init(&stream, format.rawValue) == Z_OK else { return nil }
    defer { inflateEnd(&stream) }
    var code = Z_OK
    // One extra byte reveals output that is too long.
    let unpacked = [UInt8](unsafeUninitializedCapacity: sizeMax + 1) { buffer, count in
      stream.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
      stream.avail_in = UInt32(bytes.count)
      stream.next_out = buffer.baseAddress
      stream.avail_out = UInt32(sizeMax + 1)
      code = inflate(&stream, Z_FINISH)
      count = sizeMax + 1 - Int(stream.avail_out)
    }
    return code == Z_STREAM_END && stream.avail_in == 0 && unpacked.count <= sizeMax ? unpacked : nil
  }
}
