import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import Synchronization

/// The small contents that are named already and whose files are not known to be on the disk.
///
/// To put a new file on the disk takes several times as long as to add its bytes to the log of a commit that is written
/// anyway. So the bytes go into the database, in the transaction of the commit that names the content, and stay in memory for
/// readers; a little later their files are written, many at a time, and once they have reached the disk the bytes are let go.
/// When a process starts, what is still in the journal is written anew: whatever became of those files, the contents of
/// every acknowledged commit are there before the first call.
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

  // Of at most `pendingFilesMax` rows, whose bytes are not looked at.
  private static let findSQL = "SELECT sequence, sha256 FROM content_journal ORDER BY sequence"

  private struct Entry: Sendable {
    var sequence: Int64
    var digest: SHA256Digest
    var fileName: String { "journal-\(sequence)" }
  }

  let store: Store
  let contents: ContentStore

  /// Puts the files on the disk that were named since the last time, and lets go of their bytes. Answers how many.
  ///
  /// What fails stays in the journal and is tried again the next time.
  @discardableResult
  func settle() async throws -> Int {
    guard contents.journalRoom.beginSettling() else { return 0 }
    let held = contents.heldForFinishedCommits()
    do {
      let count = try await drain { entries in
        for entry in entries { try write(entry) }
        for entry in entries where try !contents.sync(entry.digest) { try rewrite(entry) }
        for prefix in Set(entries.map { $0.digest.hexadecimal.prefix(2) }) { try contents.syncFolder(prefix) }
      }
      // Also what a commit has not named after all, such as one that was made before.
      contents.journalRoom.give(back: held)
      return count
    } catch {
      contents.journalRoom.committed()
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

  /// The bytes of a content's file that a database has in its journal.
  static func file(of digest: SHA256Digest, in transaction: ReadTransaction) throws -> [UInt8]? {
    let rows = try transaction.query(findSQL, []) { row in (sequence: try row.integer(0), digest: try row.bytes(1)) }
    guard let sequence = rows.first(where: { $0.digest == digest.bytes })?.sequence else { return nil }
    return try transaction.queryOne(fileSQL, [.integer(sequence)]) { try $0.bytes(0) }
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

  private func write(_ entry: Entry) throws {
    guard !contents.hasFile(entry.digest), let file = try file(of: entry) else { return }
    try contents.write(entry.digest, file: file, name: entry.fileName)
  }

  private func rewrite(_ entry: Entry) throws {
    if let file = try file(of: entry) { try contents.rewrite(entry.digest, file: file, name: entry.fileName) }
  }

  /// Nil when its last version is gone before its file has reached the disk.
  private func file(of entry: Entry) throws -> [UInt8]? {
    guard try store.knows(entry.digest) else { return nil }
    return try store.readSingle { try $0.queryOne(Self.fileSQL, [.integer(entry.sequence)]) { try $0.bytes(0) } }
  }
}

/// The bytes of contents that are in the journal or on their way there, for readers, and how much more may come.
final class JournalRoom: Sendable {
  private struct Held {
    let image: [UInt8]
    /// How many commits it is held for.
    var count = 1
  }

  private struct State {
    var held: [SHA256Digest: Held] = [:]
    var bytes = 0
    var files = 0
    var mayHaveEntries = false
  }

  private let state = Mutex(State())

  /// Whether a file of these bytes may go into the journal; it then counts, and is held, until it is given back as often as it was
  /// taken.
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

  /// The bytes of a content's file while they may be nowhere else.
  func image(of digest: SHA256Digest) -> [UInt8]? { state.withLock { $0.held[digest]?.image } }

  /// How many commits each content is held for.
  var counts: [SHA256Digest: Int] { state.withLock { $0.held.mapValues(\.count) } }

  /// So many commits need these no longer: their files are on the disk, or nothing names them.
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

  /// A commit has put files into the journal, or may have.
  func committed() { state.withLock { $0.mayHaveEntries = true } }

  /// Whether there is anything to settle.
  func beginSettling() -> Bool {
    state.withLock { state in
      defer { state.mayHaveEntries = false }
      return state.mayHaveEntries
    }
  }
}
