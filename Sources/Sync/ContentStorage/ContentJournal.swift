import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import SyncContents
import Synchronization

/// The write-ahead journal of small contents whose files may not be on disk yet.
///
/// Syncing a new file takes several times as long as adding its bytes to the log of a commit. The transaction that
/// references the content therefore also stores its bytes in the database, and readers use a copy in memory. Later the
/// files are written in batches, and once they are on disk the bytes are deleted. At start, everything still in the
/// journal is written again, so that the contents of every acknowledged commit exist before the first call.
struct ContentJournal: Sendable {
  /// The largest content that uses the journal.
  static let contentBytesMax = 256 << 10
  /// The maximum bytes in the journal. Contents beyond it are synced to disk at once. Files being written at this
  /// moment may exceed it.
  static let pendingBytesMax = 16 << 20
  static let pendingFilesMax = 256

  static let addSQL = "INSERT INTO content_journal (sequence, sha256, size_bytes, file) VALUES ($1, $2, $3, $4)"
  static let pageSQL = "SELECT sequence, sha256 FROM content_journal WHERE sequence > $1 ORDER BY sequence LIMIT $2"
  static let dropSQL = "DELETE FROM content_journal WHERE sequence = $1"

  private struct Entry: Sendable {
    var sequence: Int64
    var digest: SHA256Digest
    var fileName: String { "journal-\(sequence)" }
  }

  let store: Store
  let contents: ContentFolder

  /// Syncs the files of the contents referenced since the last call, and deletes their bytes from the journal. Files
  /// that fail stay in the journal until the next call.
  ///
  /// - Returns: The number of files.
  @discardableResult
  func settle() async throws -> Int {
    guard contents.journalBudget.beginSettling() else { return 0 }
    let held = contents.heldForFinishedCommits()
    do {
      let count = try await drain { entries in
        for entry in entries { try write(entry) }
        for entry in entries where try !contents.sync(entry.digest) { try rewrite(entry) }
        for prefix in Set(entries.map { $0.digest.hexadecimal.prefix(2) }) { try contents.syncFolder(prefix) }
      }
      // Also those that a commit has not referenced after all, for example because they already existed.
      contents.journalBudget.give(back: held)
      return count
    } catch {
      contents.journalBudget.committed()
      throw error
    }
  }

  /// Writes everything in the journal again. Call before serving.
  func replay() async throws { _ = try await drain { entries in for entry in entries { try rewrite(entry) } } }

  private func drain(_ body: @escaping @Sendable ([Entry]) throws -> Void) async throws -> Int {
    var (count, last) = (0, Int64(0))
    while true {
      let after = last
      let entries = try await contents.run {
        let entries = try page(after: after)
        try body(entries)
        return entries
      }
      guard let newest = entries.last else { return count }
      try await store.write { transaction in
        for entry in entries { try transaction.execute(Self.dropSQL, [.integer(entry.sequence)]) }
      }
      last = newest.sequence
      count += entries.count
    }
  }

  private func page(after sequence: Int64) throws -> [Entry] {
    try store.readSingleBlocking { transaction in
      try transaction.query(Self.pageSQL, [.integer(sequence), .int(Self.pendingFilesMax)]) { row in
        Entry(sequence: try row.integer(0), digest: try row.digest(1))
      }
    }
  }

  private func write(_ entry: Entry) throws {
    guard !contents.hasFile(entry.digest), let file = try file(of: entry) else { return }
    try contents.write(entry.digest, file: file, name: entry.fileName)
  }

  private func rewrite(_ entry: Entry) throws {
    if let file = try file(of: entry) { try contents.rewrite(entry.digest, file: file, name: entry.fileName) }
  }

  /// Returns the bytes of a file; nil if its last version was deleted before the file was on disk.
  private func file(of entry: Entry) throws -> [UInt8]? {
    guard try store.knowsBlocking(entry.digest) else { return nil }
    return try store.readSingleBlocking {
      try $0.queryOne(ContentFiles.journalFileSQL, [.integer(entry.sequence)]) { try $0.bytes(0) }
    }
  }
}

/// Holds the bytes of contents that are in the journal or on their way there, for readers, and limits their total.
final class JournalBudget: Sendable {
  private struct Held {
    let image: [UInt8]
    /// The number of commits that hold the content.
    var count = 1
  }

  private struct State {
    var held: [SHA256Digest: Held] = [:]
    var bytes = 0
    var files = 0
    var mayHaveEntries = false
  }

  private let state = Mutex(State())

  /// Holds the bytes of a file for the journal, if there is room. Each success must be matched by one `give(back:)`.
  ///
  /// - Returns: Whether the file may go into the journal.
  func take(_ digest: SHA256Digest, _ image: [UInt8]) -> Bool {
    state.withLock { state in
      guard state.bytes + image.count <= ContentJournal.pendingBytesMax, state.files < ContentJournal.pendingFilesMax
      else { return false }
      state.bytes += image.count
      state.files += 1
      if state.held[digest] == nil {
        state.held[digest] = Held(image: image)
      } else {
        state.held[digest]?.count += 1
      }
      return true
    }
  }

  /// Returns the bytes of a content's file; nil unless it is held.
  func image(of digest: SHA256Digest) -> [UInt8]? { state.withLock { $0.held[digest]?.image } }

  /// The number of commits that hold each content.
  var counts: [SHA256Digest: Int] { state.withLock { $0.held.mapValues(\.count) } }

  /// Releases contents for a number of commits each: their files are on disk, or nothing references them.
  func give(back counts: [SHA256Digest: Int]) {
    state.withLock { state in
      for (digest, count) in counts {
        guard var held = state.held.removeValue(forKey: digest) else { continue }
        let given = min(count, held.count)
        state.bytes -= given * held.image.count
        state.files -= given
        held.count -= given
        if held.count > 0 { state.held[digest] = held }
      }
    }
  }

  /// Records that a commit may have added files to the journal.
  func committed() { state.withLock { $0.mayHaveEntries = true } }

  /// Returns whether there may be anything to settle, and resets this.
  func beginSettling() -> Bool {
    state.withLock { state in
      defer { state.mayHaveEntries = false }
      return state.mayHaveEntries
    }
  }
}
