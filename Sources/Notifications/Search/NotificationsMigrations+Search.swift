import CampanileStore

extension NotificationsMigrations {
  /// - `search_documents`: the indexed notifications. `document_id` ascends with the notification's id within a user.
  ///   The index returns rows by number, so it returns the newest first.
  /// - `search_index`: the text; `scope` has one word for the user and one for the bucket. The indexer requests merges
  ///   in steps of a known size, because automatic merges would occasionally delay a commit.
  /// - `search_terms`: the positions of each word in the index.
  /// - `search_state`: a single row. It has the last indexed change, the progress of a rebuild (NULL if none is
  ///   running), and the position in the bucket of the next change.
  /// - `maintenance_cursors`: the positions at which bounded walks over all users continue.
  static let searchAndRetention = Migration(
    "0003-search-retention",
    """
    CREATE TABLE search_documents (
      document_id INTEGER PRIMARY KEY, user_id TEXT NOT NULL, notification_id TEXT NOT NULL, bucket_id TEXT NOT NULL);
    CREATE UNIQUE INDEX search_documents_notification ON search_documents (user_id, notification_id);
    CREATE INDEX search_documents_bucket ON search_documents (user_id, bucket_id, notification_id);

    CREATE VIRTUAL TABLE search_index USING fts5(
      title, subtitle, body, scope, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3 4 6', columnsize = 0);
    INSERT INTO search_index (search_index, rank) VALUES ('automerge', 0);
    INSERT INTO search_index (search_index, rank) VALUES ('crisismerge', 64);
    CREATE VIRTUAL TABLE search_terms USING fts5vocab(search_index, instance);

    \(searchStateAndRetention)
    """,
    postgreSQL: """
      CREATE TABLE search_documents (
        document_id BIGINT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, notification_id TEXT NOT NULL,
        bucket_id TEXT NOT NULL);
      CREATE UNIQUE INDEX search_documents_notification ON search_documents (user_id, notification_id);
      CREATE INDEX search_documents_bucket ON search_documents (user_id, bucket_id, notification_id);

      \(searchStateAndRetention)
      """)

  private static let searchStateAndRetention = """
    CREATE TABLE search_state (
      id BIGINT NOT NULL PRIMARY KEY, sequence BIGINT NOT NULL, rebuild_user TEXT, rebuild_notification TEXT NOT NULL,
      bucket_position TEXT NOT NULL, CHECK (id = 1));
    INSERT INTO search_state (id, sequence, rebuild_user, rebuild_notification, bucket_position)
      SELECT 1, (SELECT coalesce(max(sequence), 0) FROM changes),
        CASE WHEN EXISTS (SELECT 1 FROM notifications) THEN '' END, '', '';

    CREATE TABLE maintenance_cursors (name TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, id TEXT NOT NULL);
    CREATE INDEX buckets_deleted_time ON buckets (deleted_at_ms, user_id, id) WHERE deleted_at_ms IS NOT NULL;
    """
}
