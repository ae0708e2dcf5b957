import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileService
import NIOPosix
import SyncContents
import Synchronization

/// The content files: each content once, under its SHA-256, and unfinished files next to them.
///
/// A file gets its name when it is complete. Its row is written when the file is on disk, or when its bytes are in the
/// `ContentJournal` with that row. A file without a row, or with an unreferenced one, is deleted after a grace time. A
/// content is pinned between getting its name and its row, so that no purge deletes it in between.
final class ContentStore: Sendable {
  /// Threads that read, write and check contents, because event loops must not block on the disk.
  private static let threadCount = 4

  let folder: String
  let packs: Bool
  let journalBudget = JournalBudget()
  private let threads: NIOThreadPool
  private let pins = Mutex<[SHA256Digest: Int]>([:])

  /// Creates missing folders. Throws UNAVAILABLE if this fails.
  init(folder: String, packs: Bool) throws {
    self.folder = folder
    self.packs = packs
    for path in [folder, "\(folder)/contents", "\(folder)/uploads"] { try DiskFile.makeFolder(path) }
    for number in 0..<256 {
      try DiskFile.makeFolder("\(folder)/contents/\(Hexadecimal.text([UInt8(number)]))")
    }
    for path in ["\(folder)/contents", folder, "\(folder)/.."] { try DiskFile.syncFolder(path) }
    threads = NIOThreadPool(numberOfThreads: Self.threadCount)
    threads.start()
  }

  func close() async { try? await threads.shutdownGracefully() }

  /// Runs blocking work on the store's threads.
  func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await threads.runIfActive(body)
  }

  func uploadPath(_ id: String) -> String { "\(folder)/uploads/\(id)" }

  func path(of digest: SHA256Digest) -> String { ContentFiles.path(of: digest, in: folder) }

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

  /// Moves a complete file to the name of its content. The content must be pinned. Blocks.
  func adopt(_ path: String, _ digest: SHA256Digest) throws {
    let name = self.path(of: digest)
    // Also replace an existing file: it may be damaged, while the new one is complete.
    try DiskFile.rename(path, to: name)
    try syncFolder(digest.hexadecimal.prefix(2))
  }

  /// Stores a content from memory and leaves it pinned. Blocks.
  ///
  /// A small content is not on disk yet: `journaledFile` then has the bytes that the commit must store with its row.
  func put(_ content: [UInt8], name: String, check: ContentCheck) throws -> ContentSummary {
    let path = uploadPath(name)
    do {
      if content.count <= ContentJournal.contentBytesMax { return try putSmall(content, path, check) }
      var writer = try ContentWriter.begin(path, packs: packs, check: check)
      try content.withUnsafeBytes { try writer.append($0) }
      let summary = try writer.finish()
      try pinning(summary.digest) { try adopt(path, summary.digest) }
      return summary
    } catch {
      DiskFile.remove(path)
      throw error
    }
  }

  private func putSmall(_ content: [UInt8], _ path: String, _ check: ContentCheck) throws -> ContentSummary {
    var (summary, image) = try ContentWriter.image(of: content, packs: packs, check: check)
    try pinning(summary.digest) {
      // An existing file may be damaged, or not on disk.
      if !hasFile(summary.digest), journalBudget.take(summary.digest, image) {
        summary.journaledFile = image
      } else {
        let file = try DiskFile.create(path)
        try image.withUnsafeBytes { try file.write($0, at: 0) }
        try file.sync()
        try adopt(path, summary.digest)
      }
    }
    return summary
  }

  /// Writes a content's file unless it exists, without syncing it. Blocks.
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

  /// Writes a content's file again from its bytes, and returns when it is on disk. Blocks.
  func rewrite(_ digest: SHA256Digest, file image: [UInt8], name: String) throws {
    let path = uploadPath(name)
    pin(digest)
    defer { unpin(digest) }
    // Remove the file of an earlier attempt.
    DiskFile.remove(path)
    do {
      let file = try DiskFile.create(path)
      try image.withUnsafeBytes { try file.write($0, at: 0) }
      try file.sync()
      try adopt(path, digest)
    } catch {
      DiskFile.remove(path)
      throw error
    }
  }

  func hasFile(_ digest: SHA256Digest) -> Bool { DiskFile.exists(path(of: digest)) }

  /// Syncs a content's file. Returns false if there is no file, or if its state after the sync is unknown. Blocks.
  func sync(_ digest: SHA256Digest) throws -> Bool {
    guard let file = try DiskFile.openToRead(path(of: digest)) else { return false }
    do {
      try file.sync()
      return true
    } catch { return false }
  }

  /// Syncs the names in one of the 256 folders. Blocks.
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

  /// Opens a content. Throws DATA_LOSS if its file is missing or belongs to another content. Blocks.
  func open(_ digest: SHA256Digest, sizeBytes: Int64) throws -> ContentReader {
    // Look in memory first: bytes leave it only once the file is on disk.
    if let image = journalBudget.image(of: digest) {
      return try ContentReader(MemoryBytes(bytes: image), digest: digest, sizeBytes: sizeBytes)
    }
    guard let file = try DiskFile.openToRead(path(of: digest)) else { throw RPCError.contentDamaged }
    return try ContentReader(file, digest: digest, sizeBytes: sizeBytes)
  }

  /// Deletes a content's file unless another holder has pinned it, or `isKnown` reports that it has a row. Blocks.
  ///
  /// - Parameter ownPins: The number of the caller's own pins, which are released.
  func remove(_ digest: SHA256Digest, ownPins: Int = 0, isKnown: () throws -> Bool) {
    // Hold the lock: a later pin writes the file again, and an earlier unpin came after the row was written.
    pins.withLock { pins in
      let others = (pins[digest] ?? 0) - ownPins
      pins[digest] = others > 0 ? others : nil
      // If the row cannot be read, keep the file: a later purge tries again.
      guard others <= 0, (try? isKnown()) == false else { return }
      DiskFile.remove(path(of: digest))
    }
  }
}
