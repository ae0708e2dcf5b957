public import CampanileStore

/// The schema of the Notifications store. Migrations only go forward.
public enum NotificationsMigrations {
  /// - `users`: counters of each user, updated in the transaction of every change, and the compaction point of the
  ///   user's log.
  /// - `buckets`: buckets with their counters.
  /// - `notifications`: ids ascend with time, so the primary key serves both single reads and lists by time.
  ///   `content_json` holds attachments, actions and the tap action, which are always read and written together.
  /// - `changes`: the change log, in commit order. Watches read it by user. Feeds of other services read all of it from
  ///   their own cursor (`change_cursors`). One row thus serves as both log and outbox.
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
      """),
    sharesAndSchedules, searchAndRetention, searchWords,
    Migration("0005-change-traces", "ALTER TABLE changes ADD COLUMN trace TEXT"),
    searchByUser, invitations, bucketSettings, storedNames, engagement,
  ]

  /// - `buckets`: a shared bucket has one row per member, all with the same id. `owner_id` names the owner and is empty
  ///   in the owner's own row, so that every query stays within one user.
  /// - `notifications`: a publication is copied to each member of its bucket under the same id.
  /// - `deleted_notifications`, `scheduled`: whole notifications as JSON, kept out of lists and counts.
  /// - `timers`: everything that is due at a time; at most one timer of each kind per subject.
  /// - `contents`: inline media by SHA-256, retained while a row of `content_refs` refers to them.
  /// - `automation`: templates, heartbeats and webhooks as JSON.
  private static let sharesAndSchedules = Migration(
    "0002-shares-schedules-deliveries",
    """
    ALTER TABLE users ADD COLUMN settings_json TEXT;
    ALTER TABLE users ADD COLUMN settings_version BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE users ADD COLUMN has_quiet_hours BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE users ADD COLUMN deleted_count BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE users ADD COLUMN scheduled_count BIGINT NOT NULL DEFAULT 0;

    ALTER TABLE buckets ADD COLUMN owner_id TEXT NOT NULL DEFAULT '';
    ALTER TABLE buckets ADD COLUMN role BIGINT NOT NULL DEFAULT 4;
    ALTER TABLE buckets ADD COLUMN share_expires_at_ms BIGINT;
    ALTER TABLE buckets ADD COLUMN share_count BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE buckets ADD COLUMN is_muted BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE buckets ADD COLUMN snoozed_until_ms BIGINT;
    ALTER TABLE buckets ADD COLUMN quiet_hours_json TEXT;
    ALTER TABLE buckets ADD COLUMN max_age_days BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE buckets ADD COLUMN max_count BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE buckets ADD COLUMN after_read_hours BIGINT NOT NULL DEFAULT 0;
    ALTER TABLE buckets ADD COLUMN deleted_at_ms BIGINT;
    DROP INDEX buckets_name;
    CREATE INDEX buckets_name ON buckets (user_id, name, id) WHERE deleted_at_ms IS NULL;
    CREATE INDEX buckets_deleted ON buckets (user_id, name, id) WHERE deleted_at_ms IS NOT NULL;
    CREATE INDEX buckets_members ON buckets (id, user_id) WHERE owner_id <> '';
    CREATE INDEX buckets_retention ON buckets (user_id, id)
      WHERE max_age_days > 0 OR max_count > 0 OR after_read_hours > 0;

    ALTER TABLE notifications ADD COLUMN expires_at_ms BIGINT;
    ALTER TABLE notifications ADD COLUMN collapse_key TEXT;
    ALTER TABLE notifications ADD COLUMN delivery_state BIGINT NOT NULL DEFAULT 3;
    ALTER TABLE notifications ADD COLUMN release_at_ms BIGINT;
    ALTER TABLE notifications ADD COLUMN repeat_json TEXT;
    ALTER TABLE notifications ADD COLUMN send_count BIGINT NOT NULL DEFAULT 0;
    DROP INDEX notifications_bucket;
    DROP INDEX notifications_bucket_unread;
    CREATE INDEX notifications_bucket ON notifications (user_id, bucket_id, id);
    CREATE INDEX notifications_bucket_unread ON notifications (user_id, bucket_id, id) WHERE read_at_ms IS NULL;
    CREATE INDEX notifications_bucket_read ON notifications (user_id, bucket_id, read_at_ms)
      WHERE read_at_ms IS NOT NULL;
    CREATE INDEX notifications_collapse ON notifications (user_id, bucket_id, collapse_key)
      WHERE collapse_key IS NOT NULL;

    ALTER TABLE changes ADD COLUMN is_alert BIGINT NOT NULL DEFAULT 0;

    CREATE TABLE deleted_notifications (
      user_id TEXT NOT NULL, id TEXT NOT NULL, bucket_id TEXT NOT NULL, is_with_bucket BIGINT NOT NULL,
      deleted_at_ms BIGINT NOT NULL, payload BYTEA NOT NULL, PRIMARY KEY (user_id, id));
    CREATE INDEX deleted_notifications_time ON deleted_notifications (deleted_at_ms, user_id, id);
    CREATE INDEX deleted_notifications_list ON deleted_notifications (user_id, deleted_at_ms, id)
      WHERE is_with_bucket = 0;
    CREATE INDEX deleted_notifications_bucket ON deleted_notifications (user_id, bucket_id, id);

    CREATE TABLE scheduled (
      user_id TEXT NOT NULL, id TEXT NOT NULL, deliver_at_ms BIGINT NOT NULL, payload BYTEA NOT NULL,
      PRIMARY KEY (user_id, id));

    CREATE TABLE timers (
      user_id TEXT NOT NULL, subject_id TEXT NOT NULL, kind BIGINT NOT NULL, due_ms BIGINT NOT NULL,
      PRIMARY KEY (user_id, subject_id, kind));
    CREATE INDEX timers_due ON timers (due_ms, subject_id);

    CREATE TABLE contents (
      content_id TEXT NOT NULL PRIMARY KEY, data BYTEA NOT NULL);
    CREATE TABLE content_refs (
      user_id TEXT NOT NULL, notification_id TEXT NOT NULL, content_id TEXT NOT NULL,
      PRIMARY KEY (user_id, notification_id, content_id));
    CREATE INDEX content_refs_content ON content_refs (content_id);

    CREATE TABLE deliveries (
      user_id TEXT NOT NULL, notification_id TEXT NOT NULL, at_ms BIGINT NOT NULL, device_id TEXT NOT NULL,
      outcome BIGINT NOT NULL, reason TEXT NOT NULL, release_at_ms BIGINT, push_id TEXT NOT NULL,
      PRIMARY KEY (user_id, notification_id, at_ms, device_id, outcome, push_id));
    CREATE INDEX deliveries_time ON deliveries (at_ms);

    CREATE TABLE publish_keys (
      id TEXT NOT NULL PRIMARY KEY, owner_id TEXT NOT NULL, bucket_id TEXT NOT NULL, name TEXT NOT NULL,
      hint TEXT NOT NULL, secret_hash BYTEA NOT NULL, expires_at_ms BIGINT, created_at_ms BIGINT NOT NULL);
    CREATE INDEX publish_keys_bucket ON publish_keys (owner_id, bucket_id, id);
    CREATE UNIQUE INDEX publish_keys_secret ON publish_keys (secret_hash);

    CREATE TABLE automation (
      user_id TEXT NOT NULL, kind BIGINT NOT NULL, id TEXT NOT NULL, payload BYTEA NOT NULL,
      PRIMARY KEY (user_id, kind, id));

    CREATE TABLE action_runs (
      user_id TEXT NOT NULL, id TEXT NOT NULL, notification_id TEXT NOT NULL, created_at_ms BIGINT NOT NULL,
      payload BYTEA NOT NULL, PRIMARY KEY (user_id, id));
    CREATE INDEX action_runs_notification ON action_runs (user_id, notification_id, id);
    CREATE INDEX action_runs_time ON action_runs (created_at_ms);

    CREATE TABLE summaries (user_id TEXT NOT NULL PRIMARY KEY, content BYTEA NOT NULL);
    """)
}
