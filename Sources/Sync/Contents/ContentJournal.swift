import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import Synchronization

/// The files of small contents that are named already but not known to be on the disk.
///
/// To put a new file on the disk takes several times as long as to add its bytes to the log of a commit that is written
/// anyway. So the bytes go into the database, in the transaction of the commit that names the content, and are taken out
/// once the file has reached the disk, many files at a time. When a process starts, what is still in the journal is written
/// anew: whatever became of those files, the contents of every acknowledged commit are there before the first call.
struct ContentJournal: Sendable {
  /// The largest content that goes through the journal.
  static let contentBytesMax = 256 << 10
  /// How much may wait in it; what comes beyond is put on the disk at once. Files in the making at this moment may exceed it.
  static let pendingBytesMax = 16 << 20
  static let pendingFilesMax = 256

  static let addSQL = "INSERT INTO content_journal (sequence, sha256, size_bytes, file) VALUES ($1, $2, $3, $4)"
  static let pageSQL = "SELECT sequence, sha256 FROM content_journal WHERE sequence > $1 ORDER BY sequence LIMIT $2"
  static let fileSQL = "SELECT file FROM content_journal WHERE sequence = $1"
  static let dropSQL = "DELETE FROM content_journal WHERE sequence = $1"

  private struct Entry: Sendable {
    var sequence: Int64
    var digest: SHA256Digest
  }

  let store: Store
  let contents: ContentStore

  /// Puts the files on the disk that were named since the last time, and lets go of their bytes. Answers how many.
  ///
  /// What fails stays in the journal and is tried again the next time.
  @discardableResult
  func settle() async throws -> Int {
    guard let taken = contents.journalRoom.beginSettling() else { return 0 }
    do {
      return try await drain { entries in
        for entry in entries where try !contents.sync(entry.digest) { try rewrite(entry) }
        for prefix in Set(entries.map { $0.digest.hexadecimal.prefix(2) }) { try contents.syncFolder(prefix) }
      }
    } catch {
      contents.journalRoom.settlingFailed(taken)
      throw error
    }
  }

  /// Writes anew whatever is in the journal, before anything is served.
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
    try store.readSingle { transaction in
      try transaction.query(Self.pageSQL, [.integer(sequence), .int(Self.pendingFilesMax)]) { row in
        guard let digest = SHA256Digest(bytes: try row.bytes(1)) else {
          throw StoreError(.corrupt, "a content in the journal has no hash of 32 bytes")
        }
        return Entry(sequence: try row.integer(0), digest: digest)
      }
    }
  }

  private func rewrite(_ entry: Entry) throws {
    // Its last version may be gone before its file has reached the disk.
    guard try store.knows(entry.digest) else { return }
    let file = try store.readSingle { try $0.queryOne(Self.fileSQL, [.integer(entry.sequence)]) { try $0.bytes(0) } }
    if let file { try contents.rewrite(entry.digest, file: file, name: "journal-\(entry.sequence)") }
  }
}

/// How much more may go into the journal before it is settled.
final class JournalRoom: Sendable {
  struct Taken: Sendable, Hashable {
    var bytes = 0
    var files = 0
  }

  private struct State {
    var taken = Taken()
    var mayHaveEntries = false
  }

  private let state = Mutex(State())

  /// Whether a file of so many bytes may go into the journal; it then counts until that is settled.
  func take(_ sizeBytes: Int) -> Bool {
    state.withLock { state in
      guard state.taken.bytes + sizeBytes <= ContentJournal.pendingBytesMax,
        state.taken.files < ContentJournal.pendingFilesMax
      else { return false }
      state.taken.bytes += sizeBytes
      state.taken.files += 1
      return true
    }
  }

  /// A commit has put files into the journal, or may have.
  func committed() { state.withLock { $0.mayHaveEntries = true } }

  /// What counts no longer, or nil when there is nothing to settle.
  func beginSettling() -> Taken? {
    state.withLock { state in
      guard state.mayHaveEntries else { return nil }
      defer { state = State() }
      return state.taken
    }
  }

  func settlingFailed(_ taken: Taken) {
    state.withLock { state in
      state.taken.bytes += taken.bytes
      state.taken.files += taken.files
      state.mayHaveEntries = true
    }
  }
}
