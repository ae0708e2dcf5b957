package import CampanileCrypto

/// The file format of a content: a mark, blocks of 128 KiB (the last one shorter), and a trailer with the digest of the
/// whole.
///
/// A block is a header of 40 bytes and the stored bytes. The header has the size of the block's content and the stored
/// size, both big-endian, and a SHA-256. The hash covers the block's position, both sizes and the stored bytes. The
/// stored bytes are zlib-compressed if the first bit of the stored size is set. Any part of a content can therefore be
/// read and verified on its own, and an interrupted upload can be resumed. The trailer is a header of two zeros with
/// the digest of the content.
package enum ContentBlock {
  package static let sizeBytes = 128 << 10
  package static let mark: [UInt8] = Array("CMPSYNC1".utf8)
  package static let headerBytes = 8 + SHA256Digest.sizeBytes
  private static let packedBit: UInt32 = 1 << 31

  package struct Header: Sendable, Hashable {
    /// The size of the block's content.
    package var sizeBytes: Int
    package var storedBytes: Int
    package var isPacked: Bool
    package var digest: SHA256Digest

    package var isTrailer: Bool { sizeBytes == 0 }
  }

  /// Encodes the header and, if smaller, the compressed bytes of the block at a position of the content.
  package static func encode(
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

  package static func trailer(_ digest: SHA256Digest) -> [UInt8] { sizes(0, 0) + digest.bytes }

  /// Decodes a header; nil if the bytes are not a block header.
  package static func header(_ bytes: UnsafeRawBufferPointer) -> Header? {
    guard bytes.count == headerBytes, let digest = SHA256Digest(bytes: Array(bytes[8...])) else { return nil }
    let size = UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))
    let stored = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    let isPacked = stored & packedBit != 0
    let storedBytes = Int(stored & ~packedBit)
    guard size <= sizeBytes, isPacked ? storedBytes < size : storedBytes == size else { return nil }
    return Header(sizeBytes: Int(size), storedBytes: storedBytes, isPacked: isPacked, digest: digest)
  }

  /// Returns the content of a block; nil if it is damaged.
  package static func decode(_ stored: [UInt8], _ header: Header, at place: Int64) throws(CryptoError) -> [UInt8]? {
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
    let prefix = bytes(UInt64(bitPattern: place)) + sizes
    let result = prefix.withUnsafeBytes { bytes in Result { () throws(CryptoError) in try hasher.update(bytes) } }
    try result.get()
    try hasher.update(stored)
    return try hasher.digest()
  }

  private static func sizes(_ size: UInt32, _ stored: UInt32) -> [UInt8] {
    bytes(UInt64(size) << 32 | UInt64(stored))
  }

  /// Returns the eight bytes of a number, big-endian.
  private static func bytes(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
}
