import CampanileService
import CampanileStore

/// The indexed words with their users' keys, in order: the table `search_words`.
///
/// The index can list its words itself (fts5vocab), but scans all occurrences of a word to find the next one. That is
/// slow for the most common words. The words are therefore stored separately, in the commit that indexes their text.
///
/// To split words like the index's own tokenizer, a small index with only the texts of the commit (`search_batch`)
/// lists them and is then emptied.
enum SearchWords {
  /// Words examined per commit, and commits per run.
  static let tidyRows = 200
  static let tidyCommits = 5

  static let batchSQL = "INSERT INTO search_batch (rowid, text) VALUES ($1, $2)"
  static let keepSQL = """
    INSERT INTO search_words (word) SELECT term FROM search_batch_terms WHERE true ON CONFLICT (word) DO NOTHING
    """
  static let emptySQL = "INSERT INTO search_batch (search_batch) VALUES ('delete-all')"
  static let nextSQL = "SELECT word FROM search_words WHERE word >= $1 ORDER BY word LIMIT 1"
  static let walkSQL = "SELECT word FROM search_words WHERE word > $1 ORDER BY word LIMIT $2"
  static let usedSQL = "SELECT 1 FROM search_terms WHERE term = $1 LIMIT 1"
  static let dropSQL = "DELETE FROM search_words WHERE word = $1"
  static let cursorSQL = "SELECT id FROM maintenance_cursors WHERE name = 'search-words'"
  static let setCursorSQL = """
    INSERT INTO maintenance_cursors (name, user_id, id) VALUES ('search-words', '', $1)
    ON CONFLICT (name) DO UPDATE SET id = excluded.id
    """

  /// Deletes words that no text has any more, and returns their number. A run is bounded; the next one continues where
  /// it ended.
  static func tidy(_ store: Store) async throws -> Int {
    var dropped = 0
    for _ in 0..<tidyCommits {
      let (count, isDone) = try await store.write { try tidyStep($0) }
      dropped += count
      if isDone { break }
    }
    return dropped
  }

  private static func tidyStep(_ transaction: WriteTransaction) throws -> (dropped: Int, isDone: Bool) {
    guard try transaction.dialect == .sqlite else { return (0, true) }
    let start = try transaction.queryOne(cursorSQL) { try $0.text(0) } ?? ""
    let words = try transaction.query(walkSQL, [.text(start), .int(tidyRows)]) { try $0.text(0) }
    var dropped = 0
    for word in words where try transaction.queryOne(usedSQL, [.text(word)], { _ in true }) == nil {
      dropped += try transaction.executeCounting(dropSQL, [.text(word)])
    }
    let isDone = words.count < tidyRows
    let end = isDone ? "" : words.last ?? ""
    if end != start { try transaction.execute(setCursorSQL, [.text(end)]) }
    return (dropped, isDone)
  }
}

extension NotificationsMigrations {
  /// See `SearchWords`. `search_terms` remains for exact words, which it finds without a scan.
  static let searchWords = Migration(
    "0004-search-words",
    """
    CREATE TABLE search_words (word TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
    CREATE VIRTUAL TABLE search_batch USING fts5(
      text, tokenize = 'unicode61 remove_diacritics 2', content = '', columnsize = 0, detail = none);
    CREATE VIRTUAL TABLE search_batch_terms USING fts5vocab(search_batch, row);
    INSERT INTO search_words (word) SELECT DISTINCT term FROM search_terms WHERE col <> 'scope'
      ON CONFLICT (word) DO NOTHING;
    """, postgreSQL: "")
}
