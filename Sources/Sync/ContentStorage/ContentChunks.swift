import CampanileBase
import CampanileCrypto
import CampanileStore
import NIOPosix
import SyncContents

/// The contents in the database, in chunks: for a store on a server.
///
/// A commit stores or renames the file in its own transaction, and a purge deletes it with its row. So there is no
/// journal, and nothing to protect in between.
final class ContentChunks: ContentStore {
  private static let orphansMax = 100
  private static let discardSQL = """
    DELETE FROM content_chunks WHERE name = $1 AND NOT EXISTS (SELECT 1 FROM uploads WHERE id = $1)
    """

  let threads = ContentChunks.makeThreads()
  let packs: Bool
  private let store: Store
  private let nowMs: @Sendable () -> Int64

  init(_ store: Store, packs: Bool, nowMs: @escaping @Sendable () -> Int64) {
    self.store = store
    self.packs = packs
    self.nowMs = nowMs
  }

  func create(_ name: String) throws -> any ContentFile { try ChunkFile.create(name, in: store, nowMs: nowMs) }

  var isShared: Bool { true }

  func create(_ upload: StoredUpload) throws -> any ContentFile {
    try ChunkFile.create(upload.id, in: chunks(of: upload, isWritable: true), nowMs: nowMs)
  }

  func open(_ upload: StoredUpload, isWritable: Bool) throws -> (any ContentFile)? {
    try ChunkFile.open(upload.id, in: chunks(of: upload, isWritable: isWritable), nowMs: nowMs)
  }

  private func chunks(of upload: StoredUpload, isWritable: Bool) -> UploadChunks {
    UploadChunks(store: store, id: upload.id, epoch: isWritable ? upload.epoch : nil)
  }

  // The file of an upload that still exists stays: another process may be writing it. If this fails, `purgeOrphans`
  // deletes the file.
  func discard(_ name: String) { try? store.writeBlocking { try $0.execute(Self.discardSQL, [.text(name)]) } }

  func put(_ content: [UInt8], name: String, check: ContentCheck) throws -> ContentSummary {
    if content.count <= ContentJournal.contentBytesMax {
      var (summary, file) = try ContentWriter.image(of: content, packs: packs, check: check)
      summary.pendingFile = .chunk(file, nowMs: nowMs())
      return summary
    }
    return try adopt(name, try write(content, name: name, check: check))
  }

  func adopt(_ name: String, _ summary: ContentSummary) throws -> ContentSummary {
    var summary = summary
    summary.pendingFile = .chunks(name)
    return summary
  }

  func keep(_ summaries: [ContentSummary]) {}

  func drop(_ summaries: [ContentSummary]) {
    for summary in summaries {
      if case .chunks(let name) = summary.pendingFile { discard(name) }
    }
  }

  func open(_ digest: SHA256Digest, sizeBytes: Int64) throws -> ContentReader {
    guard let file = try ChunkFile.open(digest.hexadecimal, in: store) else { throw RPCError.contentDamaged }
    return try ContentReader(file, digest: digest, sizeBytes: sizeBytes)
  }

  func remove(_ digests: [SHA256Digest]) {}

  func purgeOrphans(part: Int, beforeMs: Int64) throws -> Int {
    guard part % 256 == 0 else { return 0 }
    let names = try store.readSingleBlocking {
      try ChunkTable.unfinished(beforeMs: beforeMs, countMax: Self.orphansMax, $0)
    }
    for name in names { discard(name) }
    return names.count
  }

  func prepare() {}

  func settle() {}
}
