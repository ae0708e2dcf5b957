import CampanileStore

/// The schema of `notifications.sqlite`. Ids ascend with time, so that one index serves both the order and a search by time.
enum NotificationsMigrations {
  static let all: [Migration] = [
    Migration(
      "0001-create",
      """
      CREATE TABLE buckets (
        user_id TEXT NOT NULL,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        description TEXT,
        color TEXT,
        icon_url TEXT,
        is_orphan BIGINT NOT NULL,
        created_at_ms BIGINT NOT NULL,
        updated_at_ms BIGINT NOT NULL,
        version BIGINT NOT NULL,
        unread_count BIGINT NOT NULL,
        notification_count BIGINT NOT NULL,
        PRIMARY KEY (user_id, id)
      );
      CREATE INDEX buckets_by_name ON buckets (user_id, name, id);
      CREATE TABLE notifications (
        user_id TEXT NOT NULL,
        id TEXT NOT NULL,
        bucket_id TEXT NOT NULL,
        title TEXT NOT NULL,
        subtitle TEXT,
        body TEXT,
        priority BIGINT NOT NULL,
        content TEXT,
        created_at_ms BIGINT NOT NULL,
        updated_at_ms BIGINT NOT NULL,
        read_at_ms BIGINT,
        version BIGINT NOT NULL,
        PRIMARY KEY (user_id, id)
      );
      CREATE INDEX notifications_by_bucket ON notifications (user_id, bucket_id, id);
      CREATE INDEX notifications_unread ON notifications (user_id, id) WHERE read_at_ms IS NULL;
      CREATE INDEX notifications_unread_by_bucket ON notifications (user_id, bucket_id, id) WHERE read_at_ms IS NULL;
      CREATE TABLE changes (
        sequence INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL,
        bucket_id TEXT NOT NULL,
        at_ms BIGINT NOT NULL,
        event TEXT NOT NULL
      );
      CREATE INDEX changes_by_user ON changes (user_id, sequence);
      CREATE TABLE notifications_state (name TEXT PRIMARY KEY, value TEXT NOT NULL);
      """)
  ]
}
