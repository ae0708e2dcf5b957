import CampanileCrypto
import CampanileRPC
import CampanileService
import SyncContents

/// Writes one content into a new file, block by block, and checks it on the way. Holds one block at most.
///
/// Errors about the content (invalid JSON, a malformed container) are final; errors about the disk are not.
struct ContentWriter {
  let file: any ContentFile
  private let packs: Bool
  private let hasher: SHA256Hasher
  private var check: ContentCheck
  private var block: [UInt8] = []
  /// The bytes of the content that are in the file.
  private var placedBytes: Int64 = 0
  /// The file offset of the next block.
  private var fileOffset: Int64
  /// The file offset up to which write-back was started.
  private var begunOffset: Int64 = 0
  private static let beginBytes: Int64 = 4 << 20

  /// The bytes of the content received so far.
  var receivedBytes: Int64 { placedBytes + Int64(block.count) }

  private init(_ file: any ContentFile, packs: Bool, check: ContentCheck) throws {
    self.file = file
    self.packs = packs
    self.check = check
    hasher = try SHA256Hasher()
    fileOffset = Int64(ContentBlock.mark.count)
    block.reserveCapacity(ContentBlock.sizeBytes)
  }

  /// Begins a new file.
  static func begin(_ file: any ContentFile, packs: Bool, check: ContentCheck) throws -> ContentWriter {
    try ContentBlock.mark.withUnsafeBytes { bytes in try file.write(bytes, at: 0) }
    return try ContentWriter(file, packs: packs, check: check)
  }

  /// Returns the complete file of a content of one or a few blocks.
  static func image(
    of content: [UInt8], packs: Bool, check: ContentCheck
  ) throws -> (summary: ContentSummary, file: [UInt8]) {
    var check = check
    try content.withUnsafeBytes { try check.update($0) }
    let findings = try check.finish()
    var summary = ContentSummary(
      digest: try SHA256.digest(content), sizeBytes: Int64(content.count), recordCount: findings.recordCount,
      syncTimestampMs: findings.syncTimestampMs, duplicateNames: findings.duplicateNames)
    var file = ContentBlock.mark
    file.reserveCapacity(content.count + 1_024)
    try content.withUnsafeBytes { bytes in
      for place in stride(from: 0, to: bytes.count, by: ContentBlock.sizeBytes) {
        let block = UnsafeRawBufferPointer(rebasing: bytes[place...].prefix(ContentBlock.sizeBytes))
        let (header, packed) = try ContentBlock.encode(block, at: Int64(place), packs: packs)
        file += header
        if let packed { file += packed } else { file += block }
      }
    }
    file += ContentBlock.trailer(summary.digest)
    summary.storedBytes = Int64(file.count)
    return (summary, file)
  }

  /// Resumes the file of an earlier process: keeps all complete blocks and truncates the rest.
  static func resume(_ file: any ContentFile, packs: Bool, check: ContentCheck) throws -> ContentWriter {
    var writer = try ContentWriter(file, packs: packs, check: check)
    while let (content, header) = try ContentReader.block(
      of: writer.file, at: writer.fileOffset, place: writer.placedBytes), header.sizeBytes == ContentBlock.sizeBytes
    {
      try content.withUnsafeBytes { bytes in try writer.note(bytes) }
      writer.placedBytes += Int64(content.count)
      writer.fileOffset += Int64(ContentBlock.headerBytes + header.storedBytes)
    }
    try writer.file.resize(writer.fileOffset)
    try ContentBlock.mark.withUnsafeBytes { bytes in try writer.file.write(bytes, at: 0) }
    return writer
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) throws {
    try note(bytes)
    var rest = bytes[...]
    while !rest.isEmpty {
      let taken = rest.prefix(ContentBlock.sizeBytes - block.count)
      if taken.count == ContentBlock.sizeBytes {
        try place(UnsafeRawBufferPointer(rebasing: taken))
      } else {
        block.append(contentsOf: taken)
        if block.count == ContentBlock.sizeBytes { try placeBlock() }
      }
      rest = rest[taken.endIndex...]
    }
  }

  /// Returns the digest of the bytes received so far.
  func digest() throws -> SHA256Digest { try hasher.digest() }

  /// Finishes the content. The file is then complete and on disk, but does not have its name yet.
  mutating func finish() throws -> ContentSummary {
    let findings = try check.finish()
    if !block.isEmpty { try placeBlock() }
    var summary = ContentSummary(
      digest: try hasher.digest(), sizeBytes: placedBytes, recordCount: findings.recordCount,
      syncTimestampMs: findings.syncTimestampMs, duplicateNames: findings.duplicateNames)
    let trailer = ContentBlock.trailer(summary.digest)
    try trailer.withUnsafeBytes { bytes in try file.write(bytes, at: fileOffset) }
    summary.storedBytes = fileOffset + Int64(trailer.count)
    try file.sync()
    return summary
  }

  private mutating func note(_ bytes: UnsafeRawBufferPointer) throws {
    try check.update(bytes)
    try hasher.update(bytes)
  }

  private mutating func placeBlock() throws {
    let full = block
    try full.withUnsafeBytes { try place($0) }
    block.removeAll(keepingCapacity: true)
  }

  private mutating func place(_ bytes: UnsafeRawBufferPointer) throws {
    let (header, packed) = try ContentBlock.encode(bytes, at: placedBytes, packs: packs)
    try header.withUnsafeBytes { head in try file.write(head, at: fileOffset) }
    let start = fileOffset + Int64(header.count)
    if let packed {
      try packed.withUnsafeBytes { stored in try file.write(stored, at: start) }
    } else {
      try file.write(bytes, at: start)
    }
    fileOffset = start + Int64(packed?.count ?? bytes.count)
    placedBytes += Int64(bytes.count)
    // Start write-back early, so that a large content is partly on disk while the rest arrives.
    if fileOffset - begunOffset >= Self.beginBytes {
      file.beginWritingOut(from: begunOffset, to: fileOffset)
      begunOffset = fileOffset
    }
  }
}

/// The facts about a complete content.
struct ContentSummary: Sendable, Hashable {
  var digest: SHA256Digest
  var sizeBytes: Int64 = 0
  /// The size of its file.
  var storedBytes: Int64 = 0
  /// Nil unless the content is a known container.
  var recordCount: Int64?
  /// The timestamp in the container.
  var syncTimestampMs: Int64?
  /// The first duplicate object keys, as JSON Pointers.
  var duplicateNames: [String] = []
  var pendingFile = PendingFile.none
}

/// The file of a content that the first commit with a reference to it must store.
enum PendingFile: Sendable, Hashable {
  case none
  /// The bytes of a file that is not on disk yet, for the `ContentJournal`.
  case journal([UInt8])
  /// The bytes of a file for the database.
  case chunk([UInt8], nowMs: Int64)
  /// The name of an unfinished file in the database, which becomes the content's.
  case chunks(String)
}
