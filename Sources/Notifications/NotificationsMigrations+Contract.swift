import CampanileStore

extension NotificationsMigrations {
  /// - `buckets`: the user's settings have a version and a time of their own, and `after_read_ms` in milliseconds.
  /// - `changes`: readers load the current bucket, so rows have no content.
  static let bucketSettings = Migration(
    "0008-bucket-settings",
    """
    ALTER TABLE buckets ADD COLUMN settings_version BIGINT NOT NULL DEFAULT 1;
    ALTER TABLE buckets ADD COLUMN settings_updated_at_ms BIGINT;
    ALTER TABLE buckets ADD COLUMN after_read_ms BIGINT NOT NULL DEFAULT 0;
    UPDATE buckets SET after_read_ms = after_read_hours * 3600000 WHERE after_read_hours > 0;
    DROP INDEX buckets_retention;
    ALTER TABLE buckets DROP COLUMN after_read_hours;
    CREATE INDEX buckets_retention ON buckets (user_id, id) WHERE max_age_days > 0 OR max_count > 0 OR after_read_ms > 0;

    ALTER TABLE changes DROP COLUMN payload;
    """)

  /// Renames members of stored JSON: durations have no unit in their name, and a webhook's method is an enum. Replies
  /// stored for repeated requests have the old names too, so they are deleted.
  ///
  /// A quotation mark inside a text is escaped, so the search for `"everyMinutes":` finds only members. Without it,
  /// every row would have to be parsed.
  static let storedNames = Migration(
    "0009-stored-names",
    """
    UPDATE notifications SET repeat_json = json_set(json_remove(repeat_json, '$.everyMinutes'),
        '$.every', (json_extract(repeat_json, '$.everyMinutes') * 60) || 's')
      WHERE instr(repeat_json, '"everyMinutes":') > 0;
    UPDATE deleted_notifications SET payload = CAST(json_set(
        json_remove(CAST(payload AS TEXT), '$.repeat.everyMinutes'),
        '$.repeat.every', (json_extract(CAST(payload AS TEXT), '$.repeat.everyMinutes') * 60) || 's') AS BLOB)
      WHERE instr(CAST(payload AS TEXT), '"everyMinutes":') > 0;
    UPDATE scheduled SET payload = CAST(json_set(
        json_remove(CAST(payload AS TEXT), '$.repeat.everyMinutes'),
        '$.repeat.every', (json_extract(CAST(payload AS TEXT), '$.repeat.everyMinutes') * 60) || 's') AS BLOB)
      WHERE instr(CAST(payload AS TEXT), '"everyMinutes":') > 0;

    UPDATE automation SET payload = CAST(json_set(
        json_remove(CAST(payload AS TEXT), '$.periodMinutes'),
        '$.period', (json_extract(CAST(payload AS TEXT), '$.periodMinutes') * 60) || 's', '$.etag', 'v1') AS BLOB)
      WHERE kind = 2;
    UPDATE automation SET payload = CAST(json_set(
        json_remove(CAST(payload AS TEXT), '$.graceMinutes'),
        '$.grace', (json_extract(CAST(payload AS TEXT), '$.graceMinutes') * 60) || 's') AS BLOB)
      WHERE kind = 2 AND json_extract(CAST(payload AS TEXT), '$.graceMinutes') IS NOT NULL;
    UPDATE automation SET payload = CAST(json_set(
        json_remove(CAST(payload AS TEXT), '$.notification.repeat.everyMinutes'), '$.notification.repeat.every',
        (json_extract(CAST(payload AS TEXT), '$.notification.repeat.everyMinutes') * 60) || 's') AS BLOB)
      WHERE kind = 2 AND json_extract(CAST(payload AS TEXT), '$.notification.repeat.everyMinutes') IS NOT NULL;
    UPDATE automation SET payload = CAST(json_set(
        CAST(payload AS TEXT), '$.method', 'METHOD_' || json_extract(CAST(payload AS TEXT), '$.method'),
        '$.etag', 'v1') AS BLOB)
      WHERE kind = 3;

    DELETE FROM store_idempotency;
    """, postgreSQL: "")
}
