import CampanileCrypto
import CampanileRPC
import CampanileService

/// Writes one content into a file of its own, block by block, and checks it on the way. It holds one block at most.
///
/// What it throws about the content (no JSON, a wrong container) is final; what it throws about the disk is not.
struct ContentWriter {
  let file: DiskFile
  private let packs: Bool
  private let hasher: SHA256Hasher
  private var check: ContentCheck
  private var block: [UInt8] = []
  /// Of the content, what is in the file.
  private var placedBytes: Int64 = 0
  /// Where the next block goes.
  private var fileOffset: Int64
  /// Up to where the system was asked to write it out.
  private var begunOffset: Int64 = 0
  private static let beginBytes: Int64 = 4 << 20

  /// How much of the content came.
  var receivedBytes: Int64 { placedBytes + Int64(block.count) }

  private init(_ file: DiskFile, packs: Bool, check: ContentCheck) throws {
    self.file = file
    self.packs = packs
    self.check = check
    hasher = try SHA256Hasher()
    fileOffset = Int64(ContentBlock.mark.count)
    block.reserveCapacity(ContentBlock.sizeBytes)
  }

  /// Begins a new file.
  static func begin(_ path: String, packs: Bool, check: ContentCheck) throws -> ContentWriter {
    let file = try DiskFile.create(path)
    try ContentBlock.mark.withUnsafeBytes { bytes in try file.write(bytes, at: 0) }
    return try ContentWriter(file, packs: packs, check: check)
  }

  /// The whole file of a content of one or a few blocks.
  static func image(
    of content: [UInt8], packs: Bool, check: ContentCheck
  ) throws -> (facts: ContentFacts, file: [UInt8]) {
    var check = check
    try content.withUnsafeBytes { try check.update($0) }
    let findings = try check.finish()
    var facts = ContentFacts(
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
    file += ContentBlock.trailer(facts.digest)
    facts.storedBytes = Int64(file.count)
    return (facts, file)
  }

  /// Goes on with what an earlier process has left: every block that is whole. What follows is cut off.
  static func resume(_ path: String, packs: Bool, check: ContentCheck) throws -> ContentWriter {
    var writer = try ContentWriter(try DiskFile.openToWrite(path), packs: packs, check: check)
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

  /// The digest of what came so far.
  func digest() throws -> SHA256Digest { try hasher.digest() }

  /// Ends the content: it is then whole and on the disk, in a file without its name.
  mutating func finish() throws -> ContentFacts {
    let findings = try check.finish()
    if !block.isEmpty { try placeBlock() }
    var facts = ContentFacts(
      digest: try hasher.digest(), sizeBytes: placedBytes, recordCount: findings.recordCount,
      syncTimestampMs: findings.syncTimestampMs, duplicateNames: findings.duplicateNames)
    let trailer = ContentBlock.trailer(facts.digest)
    try trailer.withUnsafeBytes { bytes in try file.write(bytes, at: fileOffset) }
    facts.storedBytes = fileOffset + Int64(trailer.count)
    try file.sync()
    return facts
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
    // A large content is on its way to the disk while the rest of it still comes.
    if fileOffset - begunOffset >= Self.beginBytes {
      file.beginWritingOut(from: begunOffset, to: fileOffset)
      begunOffset = fileOffset
    }
  }
}

/// What is known of a content once it is whole.
struct ContentFacts: Sendable, Hashable {
  var digest: SHA256Digest
  var sizeBytes: Int64 = 0
  /// Of its file.
  var storedBytes: Int64 = 0
  /// Nil for what is no known container.
  var recordCount: Int64?
  /// The container's own time.
  var syncTimestampMs: Int64?
  /// The first names that an object has twice, as JSON Pointers.
  var duplicateNames: [String] = []
  /// The bytes of a file that is not on the disk yet, for the `ContentJournal`; empty when it is.
  var journaledFile: [UInt8] = []
}
