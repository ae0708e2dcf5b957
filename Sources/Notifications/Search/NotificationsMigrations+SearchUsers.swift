import CampanileStore

extension NotificationsMigrations {
  /// - `search_users`: the number from which a user's key is derived, see `SearchUser`.
  /// - `search_index`: as before, but each word begins with the key of its user, and `scope` has a word for the bucket
  ///   only. Prefixes of 2 and 5 characters after the key are indexed, too.
  /// - `search_words`: as before, with the keys.
  ///
  /// The indexer fills the new index by walking all notifications in small commits, from the rebuild position set here.
  ///
  /// On PostgreSQL, `search_index` is a table with the same columns and the words of all of them, see `SearchVectors`.
  static let searchByUser = Migration(
    "0006-search-by-user",
    """
    DROP TABLE search_terms;
    DROP TABLE search_index;
    DELETE FROM search_documents;
    DELETE FROM search_words;
    \(searchUsers)

    CREATE VIRTUAL TABLE search_index USING fts5(
      title, subtitle, body, scope, tokenize = 'unicode61 remove_diacritics 2', prefix = '8 11', columnsize = 0);
    INSERT INTO search_index (search_index, rank) VALUES ('automerge', 0);
    INSERT INTO search_index (search_index, rank) VALUES ('crisismerge', 64);
    CREATE VIRTUAL TABLE search_terms USING fts5vocab(search_index, instance);

    UPDATE search_state SET rebuild_user = CASE WHEN EXISTS (SELECT 1 FROM notifications) THEN '' END,
      rebuild_notification = '', bucket_position = '' WHERE id = 1;
    DELETE FROM maintenance_cursors WHERE name = 'search-words';
    """,
    postgreSQL: """
      \(searchUsers)

      CREATE TABLE search_index (
        rowid BIGINT NOT NULL PRIMARY KEY, title TEXT NOT NULL, subtitle TEXT, body TEXT, scope TEXT NOT NULL,
        words TSVECTOR);
      CREATE INDEX search_index_words ON search_index USING gin (words);
      """)

  /// The tables of the search index, which differ between the engines.
  public static let rebuiltTables: Set<String> = ["search_documents", "search_index", "search_users", "search_words"]

  /// Makes the indexer fill an empty index. See `SearchState`.
  public static let rebuildSQL = """
    UPDATE search_state SET rebuild_user = CASE WHEN EXISTS (SELECT 1 FROM notifications) THEN '' END,
      rebuild_notification = '', bucket_position = '' WHERE id = 1
    """

  private static let searchUsers = """
    CREATE TABLE search_users (user_id TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL);
    CREATE UNIQUE INDEX search_users_number ON search_users (number);
    """
}
