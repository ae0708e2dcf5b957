import CampanileStore

extension NotificationsMigrations {
  /// - `engagement`: one row per report, which is also the log that publishers watch. `owner_id` is the bucket's owner;
  ///   the reports of all members are read by it. Rows are purged after 30 days, and with their notification.
  /// - `engagement_counts`: recipients by kind of report; the row without a notification is the sum of its bucket.
  /// - `engagement_log`: one row. Sequences are never reused, because deletions leave gaps.
  static let engagement = Migration(
    "0010-engagement",
    """
    CREATE TABLE engagement (
      sequence BIGINT NOT NULL PRIMARY KEY, owner_id TEXT NOT NULL, bucket_id TEXT NOT NULL,
      notification_id TEXT NOT NULL, user_id TEXT NOT NULL, device_id TEXT NOT NULL, kind BIGINT NOT NULL,
      action_id TEXT NOT NULL, event_at_ms BIGINT NOT NULL, at_ms BIGINT NOT NULL);
    CREATE UNIQUE INDEX engagement_report ON engagement (user_id, notification_id, kind, action_id, device_id);
    CREATE INDEX engagement_bucket ON engagement (owner_id, bucket_id, sequence);
    CREATE INDEX engagement_actions ON engagement (owner_id, bucket_id, notification_id, action_id, user_id)
      WHERE kind = 4;
    CREATE INDEX engagement_time ON engagement (at_ms);

    CREATE TABLE engagement_counts (
      owner_id TEXT NOT NULL, bucket_id TEXT NOT NULL, notification_id TEXT NOT NULL, received_count BIGINT NOT NULL,
      opened_count BIGINT NOT NULL, dismissed_count BIGINT NOT NULL, acted_count BIGINT NOT NULL,
      updated_at_ms BIGINT NOT NULL, PRIMARY KEY (owner_id, bucket_id, notification_id));
    CREATE INDEX engagement_counts_time ON engagement_counts (updated_at_ms) WHERE notification_id <> '';

    CREATE TABLE engagement_log (
      id BIGINT NOT NULL PRIMARY KEY, last_sequence BIGINT NOT NULL, purged_through BIGINT NOT NULL);
    INSERT INTO engagement_log (id, last_sequence, purged_through) VALUES (1, 0, 0);
    """)
}
