import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import NIOPosix
import SyncContents
import Synchronization

/// The contents as files in a folder.
///
/// A file gets its name when it is complete. Its row is written when the file is on disk, or when its bytes are in the
/// `ContentJournal` with that row. A content is pinned between getting its name and its row, so that no purge deletes
/// it in between.
final class ContentFolder: ContentStore {
  let threads = ContentFolder.makeThreads()
  let folder: String
  let packs: Bool
  let journalBudget = JournalBudget()
  let store: Store
  private let pins = Mutex<[SHA256Digest: Int]>([:])

  /// Creates missing folders. Throws UNAVAILABLE if this fails.
  init(_ folder: String, packs: Bool, store: Store) throws {
    self.folder = folder
    self.packs = packs
    self.store = store
    try ContentFiles.makeFolders(in: folder)
  }

  func uploadPath(_ id: String) -> String { "\(folder)/uploads/\(id)" }

  func path(of digest: SHA256Digest) -> String { ContentFiles.path(of: digest, in: folder) }

  func create(_ name: String) throws -> any ContentFile { try DiskFile.create(uploadPath(name)) }

  var isShared: Bool { false }

  func create(_ upload: StoredUpload) throws -> any ContentFile {
    discard(upload.id)
    return try create(upload.id)
  }

  func open(_ upload: StoredUpload, isWritable: Bool) throws -> (any ContentFile)? {
    let path = uploadPath(upload.id)
    return DiskFile.exists(path) ? try DiskFile.openToWrite(path) : nil
  }

  func discard(_ name: String) { DiskFile.remove(uploadPath(name)) }

  /// Protects a content against purges until `unpin`.
  func pin(_ digest: SHA256Digest) { pins.withLock { $0[digest, default: 0] += 1 } }

  func unpin(_ digest: SHA256Digest) {
    pins.withLock { pins in
      let count = (pins[digest] ?? 1) - 1
      pins[digest] = count > 0 ? count : nil
    }
  }

  /// Returns the contents that the journal holds for finished commits, and the number of these commits.
  func heldForFinishedCommits() -> [SHA256Digest: Int] {
    let counts = journalBudget.counts
    return pins.withLock { pins in counts.filter { pins[$0.key] == nil } }
  }

  func adopt(_ name: String, _ summary: ContentSummary) throws -> ContentSummary {
    try pinning(summary.digest) { try place(uploadPath(name), summary.digest) }
    return summary
  }

  /// Moves a complete file to the name of its content. The content must be pinned.
  private func place(_ path: String, _ digest: SHA256Digest) throws {
    // Also replace an existing file: it may be damaged, while the new one is complete.
    try DiskFile.rename(path, to: self.path(of: digest))
    try syncFolder(digest.hexadecimal.prefix(2))
  }

  /// A small content is not on disk yet: the commit must store it with its row.
  func put(_ content: [UInt8], name: String, check: ContentCheck) throws -> ContentSummary {
    do {
      if content.count <= ContentJournal.contentBytesMax { return try putSmall(content, uploadPath(name), check) }
      return try adopt(name, try write(content, name: name, check: check))
    } catch {
      discard(name)
      throw error
    }
  }

  private func putSmall(_ content: [UInt8], _ path: String, _ check: ContentCheck) throws -> ContentSummary {
    var (summary, image) = try ContentWriter.image(of: content, packs: packs, check: check)
    try pinning(summary.digest) {
      // An existing file may be damaged, or not on disk.
      if !hasFile(summary.digest), journalBudget.take(summary.digest, image) {
        summary.pendingFile = .journal(image)
      } else {
        try placeNew(image, path, summary.digest)
      }
    }
    return summary
  }

  private func placeNew(_ image: [UInt8], _ path: String, _ digest: SHA256Digest) throws {
    let file = try DiskFile.create(path)
    try image.withUnsafeBytes { try file.write($0, at: 0) }
    try file.sync()
    try place(path, digest)
  }

  /// Writes a content's file unless it exists, without syncing it.
  func write(_ digest: SHA256Digest, file image: [UInt8], name: String) throws {
    let path = uploadPath(name)
    // Remove the file of an earlier attempt.
    DiskFile.remove(path)
    defer { DiskFile.remove(path) }
    let file = try DiskFile.create(path)
    try image.withUnsafeBytes { try file.write($0, at: 0) }
    // Never replace an existing file: another version may rely on its being on disk.
    _ = try DiskFile.link(path, to: self.path(of: digest))
  }

  /// Writes a content's file again from its bytes, and returns when it is on disk.
  func rewrite(_ digest: SHA256Digest, file image: [UInt8], name: String) throws {
    let path = uploadPath(name)
    pin(digest)
    defer { unpin(digest) }
    // Remove the file of an earlier attempt.
    DiskFile.remove(path)
    do {
      try placeNew(image, path, digest)
    } catch {
      DiskFile.remove(path)
      throw error
    }
  }

  func hasFile(_ digest: SHA256Digest) -> Bool { DiskFile.exists(path(of: digest)) }

  /// Syncs a content's file. Returns false if there is no file, or if its state after the sync is unknown.
  func sync(_ digest: SHA256Digest) throws -> Bool {
    guard let file = try DiskFile.openToRead(path(of: digest)) else { return false }
    do {
      try file.sync()
      return true
    } catch { return false }
  }

  /// Syncs the names in one of the 256 folders.
  func syncFolder(_ prefix: Substring) throws { try DiskFile.syncFolder("\(folder)/contents/\(prefix)") }

  /// Runs `body` with the content pinned. Unpins it if `body` throws.
  private func pinning(_ digest: SHA256Digest, _ body: () throws -> Void) throws {
    pin(digest)
    do {
      try body()
    } catch {
      unpin(digest)
      throw error
    }
  }

  /// Opens a content. Throws DATA_LOSS if its file is missing or belongs to another content.
  func open(_ digest: SHA256Digest, sizeBytes: Int64) throws -> ContentReader {
    // Look in memory first: bytes leave it only once the file is on disk.
    if let image = journalBudget.image(of: digest) {
      return try ContentReader(MemoryBytes(bytes: image), digest: digest, sizeBytes: sizeBytes)
    }
    guard let file = try DiskFile.openToRead(path(of: digest)) else { throw RPCError.contentDamaged }
    return try ContentReader(file, digest: digest, sizeBytes: sizeBytes)
  }

  func keep(_ summaries: [ContentSummary]) {
    journalBudget.committed()
    for summary in summaries { unpin(summary.digest) }
  }

  // If this fails, `purgeOrphans` deletes the file after the next start.
  func drop(_ summaries: [ContentSummary]) {
    journalBudget.committed()
    let journaled = summaries.filter { if case .journal = $0.pendingFile { true } else { false } }
    journalBudget.give(back: Dictionary(journaled.map { ($0.digest, 1) }, uniquingKeysWith: +))
    for summary in summaries { remove(summary.digest, ownPins: 1) }
  }

  func remove(_ digests: [SHA256Digest]) { for digest in digests { remove(digest) } }

  /// Deletes a content's file unless another holder has pinned it, or it has a row.
  ///
  /// - Parameter ownPins: The number of the caller's own pins, which are released.
  func remove(_ digest: SHA256Digest, ownPins: Int = 0) {
    // Hold the lock: a later pin writes the file again, and an earlier unpin came after the row was written.
    pins.withLock { pins in
      let others = (pins[digest] ?? 0) - ownPins
      pins[digest] = others > 0 ? others : nil
      // If the row cannot be read, keep the file: a later purge tries again.
      guard others <= 0, (try? store.knowsBlocking(digest)) == false else { return }
      DiskFile.remove(path(of: digest))
    }
  }

  func purgeOrphans(part: Int, beforeMs: Int64) throws -> Int {
    try OrphanPurge(contents: self, beforeMs: beforeMs).run(folder: part)
  }

  func prepare() async throws { try await ContentJournal(store: store, contents: self).replay() }

  func settle() async throws { try await ContentJournal(store: store, contents: self).settle() }
}
