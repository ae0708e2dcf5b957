public import CampanileStore

/// The schema of the Notifications store, forward only.
public enum NotificationsMigrations {
  /// - `users`: counters of each user, kept in the transaction of every change, and how far their log was dropped.
  /// - `buckets`: with their counters.
  /// - `notifications`: ids ascend with time, so the primary key serves both the single read and the list by time.
  ///   `content_json` holds attachments, actions and the tap action, which are always read and written together.
  /// - `changes`: what happened, in the order of the commits. Watches read it by user; other services' feeds read all
  ///   of it from their own cursor (`change_cursors`), so that one row serves as log and as outbox.
  public static let all: [Migration] = [
    Migration(
      "0001-buckets-notifications-changes",
      """
      CREATE TABLE notifications_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);

      CREATE TABLE users (
        user_id TEXT NOT NULL PRIMARY KEY, bucket_count BIGINT NOT NULL, notification_count BIGINT NOT NULL,
        unread_count BIGINT NOT NULL, compacted_through BIGINT NOT NULL,
        CHECK (bucket_count >= 0), CHECK (unread_count >= 0), CHECK (notification_count >= unread_count));

      CREATE TABLE buckets (
        user_id TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, description TEXT, color TEXT, icon_url TEXT,
        is_orphan BIGINT NOT NULL, created_at_ms BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL,
        version BIGINT NOT NULL, notification_count BIGINT NOT NULL, unread_count BIGINT NOT NULL,
        PRIMARY KEY (user_id, id),
        CHECK (unread_count >= 0), CHECK (notification_count >= unread_count));
      CREATE INDEX buckets_name ON buckets (user_id, name, id);

      CREATE TABLE notifications (
        user_id TEXT NOT NULL, id TEXT NOT NULL, bucket_id TEXT NOT NULL, title TEXT NOT NULL, subtitle TEXT, body TEXT,
        priority BIGINT NOT NULL, content_json TEXT, created_at_ms BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL,
        read_at_ms BIGINT, sent_at_ms BIGINT, version BIGINT NOT NULL,
        PRIMARY KEY (user_id, id));
      CREATE INDEX notifications_bucket ON notifications (bucket_id, id);
      CREATE INDEX notifications_unread ON notifications (user_id, id) WHERE read_at_ms IS NULL;
      CREATE INDEX notifications_bucket_unread ON notifications (bucket_id, id) WHERE read_at_ms IS NULL;

      CREATE TABLE changes (
        sequence BIGINT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, kind BIGINT NOT NULL, bucket_id TEXT NOT NULL,
        notification_id TEXT NOT NULL, previous_bucket_id TEXT, at_ms BIGINT NOT NULL, payload BYTEA NOT NULL);
      CREATE INDEX changes_user ON changes (user_id, sequence);

      CREATE TABLE change_cursors (feed TEXT NOT NULL PRIMARY KEY, sequence BIGINT NOT NULL);
      """)
  ]
}
