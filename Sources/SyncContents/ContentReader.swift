package import CampanileBase
package import CampanileCrypto

/// Reads a content block by block, and verifies each block before returning its bytes. A failed verification is
/// DATA_LOSS, reason `CONTENT_DAMAGED`.
package final class ContentReader: Sendable {
  private let file: any ContentBytes
  package let sizeBytes: Int64

  /// Throws unless the file has the mark and the trailer of this content.
  package init(_ file: any ContentBytes, digest: SHA256Digest, sizeBytes: Int64) throws {
    self.file = file
    self.sizeBytes = sizeBytes
    let trailer = try Self.bytes(
      of: file, at: try file.sizeBytes() - Int64(ContentBlock.headerBytes), count: ContentBlock.headerBytes)
    guard let trailer, trailer == ContentBlock.trailer(digest),
      try Self.bytes(of: file, at: 0, count: ContentBlock.mark.count) == ContentBlock.mark
    else { throw RPCError.contentDamaged }
  }

  /// The position of a block.
  package struct Position: Sendable, Hashable {
    /// The offset in the content.
    package var place: Int64 = 0
    package var fileOffset = Int64(ContentBlock.mark.count)

    package init(place: Int64 = 0, fileOffset: Int64 = Int64(ContentBlock.mark.count)) {
      (self.place, self.fileOffset) = (place, fileOffset)
    }
  }

  /// Returns the block that contains an offset, by reading the headers of its predecessors: 2,000 for a content of 250
  /// MB.
  package func position(of offset: Int64) throws -> Position {
    var position = Position()
    while position.place + Int64(ContentBlock.sizeBytes) <= offset {
      let bytes = try Self.bytes(of: file, at: position.fileOffset, count: ContentBlock.headerBytes)
      guard let header = bytes.flatMap({ $0.withUnsafeBytes(ContentBlock.header) }),
        header.sizeBytes == ContentBlock.sizeBytes
      else { throw RPCError.contentDamaged }
      position.place += Int64(header.sizeBytes)
      position.fileOffset += Int64(ContentBlock.headerBytes + header.storedBytes)
    }
    return position
  }

  /// Returns the content of a block and the position of the next one.
  package func block(_ position: Position) throws -> (content: [UInt8], next: Position) {
    guard let (content, header) = try Self.block(of: file, at: position.fileOffset, place: position.place),
      position.place + Int64(content.count) <= sizeBytes,
      content.count == ContentBlock.sizeBytes || position.place + Int64(content.count) == sizeBytes
    else { throw RPCError.contentDamaged }
    return (
      content,
      Position(
        place: position.place + Int64(content.count),
        fileOffset: position.fileOffset + Int64(ContentBlock.headerBytes + header.storedBytes))
    )
  }

  /// Returns the whole content. The caller must have checked its size.
  package func all() throws -> [UInt8] {
    var content: [UInt8] = []
    content.reserveCapacity(Int(sizeBytes))
    var position = Position()
    while position.place < sizeBytes {
      let (bytes, next) = try block(position)
      content += bytes
      position = next
    }
    return content
  }

  /// Returns the digest of the whole content, as read.
  package func wholeDigest() throws -> SHA256Digest {
    let hasher = try SHA256Hasher()
    var position = Position()
    while position.place < sizeBytes {
      let (bytes, next) = try block(position)
      try bytes.withUnsafeBytes { try hasher.update($0) }
      position = next
    }
    return try hasher.digest()
  }

  /// Reads a block other than the trailer; nil if there is none or it is damaged.
  package static func block(
    of file: any ContentBytes, at offset: Int64, place: Int64
  ) throws -> (content: [UInt8], header: ContentBlock.Header)? {
    guard let head = try bytes(of: file, at: offset, count: ContentBlock.headerBytes),
      let header = head.withUnsafeBytes(ContentBlock.header), !header.isTrailer,
      let stored = try bytes(of: file, at: offset + Int64(ContentBlock.headerBytes), count: header.storedBytes),
      let content = try ContentBlock.decode(stored, header, at: place)
    else { return nil }
    return (content, header)
  }

  private static func bytes(of file: any ContentBytes, at offset: Int64, count: Int) throws -> [UInt8]? {
    guard offset >= 0 else { return nil }
    var failure: RPCError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, read in
      do throws(RPCError) {
        read = try file.read(UnsafeMutableRawBufferPointer(buffer), at: offset)
      } catch { failure = error }
    }
    if let failure { throw failure }
    return bytes.count == count ? bytes : nil
  }
}

/// The bytes of a content's file: on disk, in a database or in memory.
package protocol ContentBytes: Sendable {
  /// Fills the buffer from an offset, as far as the bytes go, and returns their number.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(RPCError) -> Int
  func sizeBytes() throws(RPCError) -> Int64
}

/// A content's file while it is written.
package protocol ContentFile: ContentBytes {
  /// Writes all bytes at an offset, which is at most the size of the file.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(RPCError)
  /// Truncates the file.
  func resize(_ sizeBytes: Int64) throws(RPCError)
  /// Starts write-back of a part of the file, so that less is left for `sync`.
  func beginWritingOut(from offset: Int64, to end: Int64)
  /// Returns when the bytes survive the end of this process.
  func flush() throws(RPCError)
  /// Returns when the bytes are durable.
  func sync() throws(RPCError)
}

extension DiskFile: ContentFile {
  package func flush() {}
}

/// The bytes of a file that has not been written yet.
package struct MemoryBytes: ContentBytes {
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) { self.bytes = bytes }

  package func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
    guard offset >= 0, offset < Int64(bytes.count) else { return 0 }
    let rest = bytes[Int(offset)...].prefix(buffer.count)
    rest.withUnsafeBytes { buffer.copyMemory(from: $0) }
    return rest.count
  }

  package func sizeBytes() -> Int64 { Int64(bytes.count) }
}
