import CampanileCrypto
import CampanileRPC
import CampanileService

/// How a content lies in its file: a mark, blocks of 128 KiB of it (the last one shorter), and a trailer with the digest of
/// the whole.
///
/// A block is a header of 40 bytes (size of its content, size as stored, both big-endian; SHA-256 over its place, both sizes
/// and the stored bytes), then the stored bytes: as they are, or packed with zlib when the first bit of the stored size is
/// set. So any part of a content can be read and checked by itself, and what an interrupted upload has left can be gone on
/// with. The trailer is a header of two zeros with the digest of the content.
enum ContentBlock {
  static let sizeBytes = 128 << 10
  static let mark: [UInt8] = Array("CMPSYNC1".utf8)
  static let headerBytes = 8 + SHA256Digest.sizeBytes
  private static let packedBit: UInt32 = 1 << 31

  struct Header: Sendable, Hashable {
    /// Of the content.
    var sizeBytes: Int
    var storedBytes: Int
    var isPacked: Bool
    var digest: SHA256Digest

    var isTrailer: Bool { sizeBytes == 0 }
  }

  /// The header and the stored bytes of a block at a place of its content.
  static func encode(
    _ content: UnsafeRawBufferPointer, at place: Int64, packs: Bool
  ) throws(CryptoError) -> (header: [UInt8], packed: [UInt8]?) {
    let packed = packs ? Deflate.pack(content, .zlib) : nil
    let storedBytes = UInt32(packed?.count ?? content.count) | (packed == nil ? 0 : packedBit)
    let sizes = sizes(UInt32(content.count), storedBytes)
    let digest: SHA256Digest
    if let packed {
      let result = packed.withUnsafeBytes { bytes in
        Result { () throws(CryptoError) in try Self.digest(place, sizes, bytes) }
      }
      digest = try result.get()
    } else {
      digest = try Self.digest(place, sizes, content)
    }
    return (sizes + digest.bytes, packed)
  }

  static func trailer(_ digest: SHA256Digest) -> [UInt8] { sizes(0, 0) + digest.bytes }

  /// Nil when the bytes are no header of a block.
  static func header(_ bytes: UnsafeRawBufferPointer) -> Header? {
    guard bytes.count == headerBytes, let digest = SHA256Digest(bytes: Array(bytes[8...])) else { return nil }
    let size = UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))
    let stored = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    let isPacked = stored & packedBit != 0
    let storedBytes = Int(stored & ~packedBit)
    guard size <= sizeBytes, isPacked ? storedBytes < size : storedBytes == size else { return nil }
    return Header(sizeBytes: Int(size), storedBytes: storedBytes, isPacked: isPacked, digest: digest)
  }

  /// The content of a block, or nil when it is damaged.
  static func decode(_ stored: [UInt8], _ header: Header, at place: Int64) throws(CryptoError) -> [UInt8]? {
    let sizes = sizes(
      UInt32(header.sizeBytes), UInt32(header.storedBytes) | (header.isPacked ? packedBit : 0))
    let result = stored.withUnsafeBytes { bytes in
      Result { () throws(CryptoError) in try digest(place, sizes, bytes) }
    }
    guard try result.get() == header.digest else { return nil }
    guard header.isPacked else { return stored }
    let content = stored.withUnsafeBytes { Deflate.unpack($0, .zlib, sizeMax: header.sizeBytes) }
    return content?.count == header.sizeBytes ? content : nil
  }

  private static func digest(
    _ place: Int64, _ sizes: [UInt8], _ stored: UnsafeRawBufferPointer
  ) throws(CryptoError) -> SHA256Digest {
    let hasher = try SHA256Hasher()
    var prefix: [UInt8] = []
    OpaqueToken.append(UInt64(bitPattern: place), to: &prefix)
    prefix += sizes
    let result = prefix.withUnsafeBytes { bytes in Result { () throws(CryptoError) in try hasher.update(bytes) } }
    try result.get()
    try hasher.update(stored)
    return try hasher.digest()
  }

  private static func sizes(_ size: UInt32, _ stored: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    OpaqueToken.append(UInt64(size) << 32 | UInt64(stored), to: &bytes)
    return bytes
  }
}
