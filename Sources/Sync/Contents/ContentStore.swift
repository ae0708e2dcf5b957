import CampanileCrypto
import CampanileRPC
import CampanileService
import NIOPosix
import Synchronization

/// The files of contents: each content once, under its SHA-256, and what is on the way beside them.
///
/// A file has its name only when it is whole, and its row only when it is on the disk as well, or its bytes are in the
/// `ContentJournal` beside that row. A file without a row is dropped after a grace time, and so is one whose row says that
/// nothing names it. Between its naming and its row a content is pinned, so that no clean-up can fall between.
final class ContentStore: Sendable {
  /// Threads that read, write and check contents, so that event loops never wait for a disk.
  private static let threadCount = 4

  let folder: String
  let packs: Bool
  let journalRoom = JournalRoom()
  private let threads: NIOThreadPool
  private let pins = Mutex<[SHA256Digest: Int]>([:])

  /// Makes the folders where they are missing. Throws UNAVAILABLE when it cannot.
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

  /// Runs work that may block.
  func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await threads.runIfActive(body)
  }

  func uploadPath(_ id: String) -> String { "\(folder)/uploads/\(id)" }

  func path(of digest: SHA256Digest) -> String { Self.path(of: digest, in: folder) }

  static func path(of digest: SHA256Digest, in folder: String) -> String {
    let name = digest.hexadecimal
    return "\(folder)/contents/\(name.prefix(2))/\(name)"
  }

  /// Keeps clean-ups away from a content until `unpin`.
  func pin(_ digest: SHA256Digest) { pins.withLock { $0[digest, default: 0] += 1 } }

  func unpin(_ digest: SHA256Digest) {
    pins.withLock { pins in
      let count = (pins[digest] ?? 1) - 1
      pins[digest] = count > 0 ? count : nil
    }
  }

  /// What the journal's room holds for commits that are over, and for how many.
  func heldForFinishedCommits() -> [SHA256Digest: Int] {
    let counts = journalRoom.counts
    return pins.withLock { pins in counts.filter { pins[$0.key] == nil } }
  }

  /// Gives a whole file the name of its content, for good. The content must be pinned. Blocks.
  func adopt(_ path: String, _ digest: SHA256Digest) throws {
    let name = self.path(of: digest)
    // Also over a file of the same name: it may be damaged, and the new one is known to be whole.
    try DiskFile.rename(path, to: name)
    try syncFolder(digest.hexadecimal.prefix(2))
  }

  /// Writes a content that is in memory and leaves it pinned. A small one is not on the disk yet: then `journaledFile` has the
  /// bytes that the commit which names it must keep. Blocks.
  func put(_ content: [UInt8], name: String, check: ContentCheck) throws -> ContentFacts {
    let path = uploadPath(name)
    do {
      if content.count <= ContentJournal.contentBytesMax { return try putSmall(content, path, check) }
      var writer = try ContentWriter.begin(path, packs: packs, check: check)
      try content.withUnsafeBytes { try writer.append($0) }
      let facts = try writer.finish()
      try pinning(facts.digest) { try adopt(path, facts.digest) }
      return facts
    } catch {
      DiskFile.remove(path)
      throw error
    }
  }

  private func putSmall(_ content: [UInt8], _ path: String, _ check: ContentCheck) throws -> ContentFacts {
    var (facts, image) = try ContentWriter.image(of: content, packs: packs, check: check)
    try pinning(facts.digest) {
      // A file that is there may be damaged, or not on the disk.
      if !hasFile(facts.digest), journalRoom.take(facts.digest, image) {
        facts.journaledFile = image
      } else {
        let file = try DiskFile.create(path)
        try image.withUnsafeBytes { try file.write($0, at: 0) }
        try file.sync()
        try adopt(path, facts.digest)
      }
    }
    return facts
  }

  /// Writes a content's file unless there is one. It is not on the disk yet. Blocks.
  func write(_ digest: SHA256Digest, file image: [UInt8], name: String) throws {
    let path = uploadPath(name)
    // What an earlier attempt has left.
    DiskFile.remove(path)
    defer { DiskFile.remove(path) }
    let file = try DiskFile.create(path)
    try image.withUnsafeBytes { try file.write($0, at: 0) }
    // Never over a file that is there: another version may rely on that one being on the disk.
    _ = try DiskFile.link(path, to: self.path(of: digest))
  }

  /// Writes a content's file anew, from its bytes, and returns when it is on the disk. Blocks.
  func rewrite(_ digest: SHA256Digest, file image: [UInt8], name: String) throws {
    let path = uploadPath(name)
    pin(digest)
    defer { unpin(digest) }
    // What an earlier attempt has left.
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

  /// Puts a named file on the disk. False when there is none, or when what became of it is not known. Blocks.
  func sync(_ digest: SHA256Digest) throws -> Bool {
    guard let file = try DiskFile.openToRead(path(of: digest)) else { return false }
    do {
      try file.sync()
      return true
    } catch { return false }
  }

  /// Puts the names in one of the 256 folders on the disk. Blocks.
  func syncFolder(_ prefix: Substring) throws { try DiskFile.syncFolder("\(folder)/contents/\(prefix)") }

  /// Leaves the content pinned when `body` does not throw.
  private func pinning(_ digest: SHA256Digest, _ body: () throws -> Void) throws {
    pin(digest)
    do {
      try body()
    } catch {
      unpin(digest)
      throw error
    }
  }

  /// Opens a content. Throws DATA_LOSS when its file is missing or another's. Blocks.
  func open(_ digest: SHA256Digest, sizeBytes: Int64) throws -> ContentReader {
    // Whoever takes it out there has put it on the disk before.
    if let image = journalRoom.image(of: digest) {
      return try ContentReader(MemoryBytes(bytes: image), digest: digest, sizeBytes: sizeBytes)
    }
    guard let file = try DiskFile.openToRead(path(of: digest)) else { throw RPCError.contentDamaged }
    return try ContentReader(file, digest: digest, sizeBytes: sizeBytes)
  }

  /// Removes a content's file unless somebody has pinned it, or `isKnown` says that it has a row. Blocks.
  ///
  /// `ownPins` are the caller's own, which are given up.
  func remove(_ digest: SHA256Digest, ownPins: Int = 0, isKnown: () throws -> Bool) {
    // Under the lock: who pins it after that writes it anew, and who unpinned it before has written its row.
    pins.withLock { pins in
      let others = (pins[digest] ?? 0) - ownPins
      pins[digest] = others > 0 ? others : nil
      // When the row cannot be looked up the file stays: a later sweep looks again.
      guard others <= 0, (try? isKnown()) == false else { return }
      DiskFile.remove(path(of: digest))
    }
  }
}
