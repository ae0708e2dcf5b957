import CampanileCrypto
import CampanileRPC
import CampanileService

/// Reads one content block by block, each checked before anything of it is answered. Every failure to do so is DATA_LOSS,
/// reason `CONTENT_DAMAGED`.
final class ContentReader: Sendable {
  private let file: any ContentBytes
  let sizeBytes: Int64

  /// Throws unless the file is that of the content.
  init(_ file: any ContentBytes, digest: SHA256Digest, sizeBytes: Int64) throws {
    self.file = file
    self.sizeBytes = sizeBytes
    let trailer = try Self.bytes(
      of: file, at: try file.sizeBytes() - Int64(ContentBlock.headerBytes), count: ContentBlock.headerBytes)
    guard let trailer, trailer == ContentBlock.trailer(digest),
      try Self.bytes(of: file, at: 0, count: ContentBlock.mark.count) == ContentBlock.mark
    else { throw RPCError.contentDamaged }
  }

  /// Where a block is.
  struct Position: Sendable, Hashable {
    /// Of the content.
    var place: Int64 = 0
    var fileOffset = Int64(ContentBlock.mark.count)
  }

  /// The block that holds an offset of the content, found by its predecessors' headers: contents of 250 MB have 2,000.
  func position(of offset: Int64) throws -> Position {
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

  /// The content of a block, and where the next one is.
  func block(_ position: Position) throws -> (content: [UInt8], next: Position) {
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

  /// All of it. The caller has checked that it is not too much.
  func all() throws -> [UInt8] {
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

  /// The digest of all of it.
  func wholeDigest() throws -> SHA256Digest {
    let hasher = try SHA256Hasher()
    var position = Position()
    while position.place < sizeBytes {
      let (bytes, next) = try block(position)
      try bytes.withUnsafeBytes { try hasher.update($0) }
      position = next
    }
    return try hasher.digest()
  }

  /// A whole block that is not the trailer; nil when there is none, or it is damaged.
  static func block(
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

/// The bytes of a content's file, wherever they are.
protocol ContentBytes: Sendable {
  /// Fills the buffer from an offset as far as they go, and answers how many that were.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(RPCError) -> Int
  func sizeBytes() throws(RPCError) -> Int64
}

extension DiskFile: ContentBytes {}

/// Those of a file that is not written yet.
struct MemoryBytes: ContentBytes {
  let bytes: [UInt8]

  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
    guard offset >= 0, offset < Int64(bytes.count) else { return 0 }
    let rest = bytes[Int(offset)...].prefix(buffer.count)
    rest.withUnsafeBytes { buffer.copyMemory(from: $0) }
    return rest.count
  }

  func sizeBytes() -> Int64 { Int64(bytes.count) }
}

extension RPCError {
  static var contentDamaged: RPCError {
    RPCError(
      .dataLoss, "the content is damaged on disk: restore another version, or a backup",
      reason: Reason.contentDamaged.rawValue)
  }
}
