public import CampanileStore
import SyncContents

/// The migrations of the Sync store, forward only.
public enum SyncMigrations {
  /// - `users`: counters of each user, and the last deleted message. A zone created again continues from
  ///   `revision_floor`, so that its etags are never reused.
  /// - `zones.compacted_through`: revisions up to it are no longer listed.
  /// - `versions`: every retained version, including deletions. `version` is the zone's revision that wrote it, so the
  ///   table is also the log of revisions. `number` counts the versions of one name. `replaced_at_ms` is NULL for the
  ///   current version. `assets` references the current ones.
  /// - `contents`: a row for each file, with the number of versions and uploads that reference it.
  /// - `content_journal`: files of contents that may not be on disk yet; see `ContentJournal`.
  /// - `content_chunks`: files of contents on a server; see `ChunkTable`.
  /// - `messages`: messages between devices, stored once for all of them. `mutation_id` is the request id that the
  ///   device chose. Each device has its own position in `devices`.
  /// - `subscriptions`: the changes that wake devices. `wakes`: devices that are to be woken, one row for each.
  ///   `devices.wakes_spent_ms` is the state of `WakeBudget`. `awake_devices`: the devices with an open watch, by
  ///   process, on a server.
  /// - `export_queue`: users whose notifications await export. `generation` reveals changes during an export.
  public static let all: [Migration] = [
    Migration(
      "0001-zones-assets-devices",
      """
      CREATE TABLE sync_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
      CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
      INSERT INTO counters (name, value) VALUES ('zone', 0), ('uploads', 0), ('generation', 0), ('stored', 0);

      CREATE TABLE users (
        user_id TEXT NOT NULL PRIMARY KEY, zone_count BIGINT NOT NULL, device_count BIGINT NOT NULL,
        upload_count BIGINT NOT NULL, used_bytes BIGINT NOT NULL, revision_floor BIGINT NOT NULL,
        message_sequence BIGINT NOT NULL, dropped_through BIGINT NOT NULL,
        CHECK (zone_count >= 0), CHECK (device_count >= 0), CHECK (upload_count >= 0), CHECK (used_bytes >= 0));

      CREATE INDEX users_used ON users (used_bytes);

      CREATE TABLE zones (
        user_id TEXT NOT NULL, name TEXT NOT NULL, zone_no BIGINT NOT NULL, revision BIGINT NOT NULL,
        asset_count BIGINT NOT NULL, used_bytes BIGINT NOT NULL, compacted_through BIGINT NOT NULL,
        created_at_ms BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL, PRIMARY KEY (user_id, name),
        CHECK (asset_count >= 0), CHECK (used_bytes >= 0));
      CREATE UNIQUE INDEX zones_number ON zones (zone_no);
      CREATE INDEX zones_used ON zones (used_bytes);
      CREATE TABLE deleted_zones (zone_no BIGINT NOT NULL PRIMARY KEY);

      CREATE TABLE assets (
        zone_no BIGINT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, PRIMARY KEY (zone_no, name));

      CREATE TABLE versions (
        zone_no BIGINT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, number BIGINT NOT NULL,
        record_type TEXT NOT NULL, sync_timestamp_ms BIGINT NOT NULL, record_count BIGINT NOT NULL,
        size_bytes BIGINT NOT NULL, sha256 BYTEA, device_id TEXT NOT NULL, at_ms BIGINT NOT NULL,
        is_deleted BIGINT NOT NULL, is_conflict BIGINT NOT NULL, replaced_at_ms BIGINT,
        PRIMARY KEY (zone_no, name, version));
      CREATE UNIQUE INDEX versions_number ON versions (zone_no, name, number);
      CREATE INDEX versions_revision ON versions (zone_no, version, name);
      CREATE INDEX versions_conflict ON versions (zone_no, name, version) WHERE is_conflict = 1;
      CREATE INDEX versions_content ON versions (zone_no, sha256) WHERE sha256 IS NOT NULL;
      CREATE INDEX versions_replaced ON versions (replaced_at_ms) WHERE replaced_at_ms IS NOT NULL;
      CREATE INDEX versions_history ON versions (zone_no, replaced_at_ms)
        WHERE replaced_at_ms IS NOT NULL AND is_conflict = 0;

      CREATE TABLE contents (
        sha256 BYTEA NOT NULL PRIMARY KEY, size_bytes BIGINT NOT NULL, stored_bytes BIGINT NOT NULL,
        ref_count BIGINT NOT NULL, unreferenced_at_ms BIGINT, CHECK (ref_count >= 0));
      CREATE INDEX contents_unreferenced ON contents (unreferenced_at_ms) WHERE unreferenced_at_ms IS NOT NULL;

      CREATE TABLE uploads (
        user_id TEXT NOT NULL, id TEXT NOT NULL, zone TEXT NOT NULL, record_type TEXT NOT NULL,
        size_bytes BIGINT NOT NULL, sha256 BYTEA NOT NULL, is_strict BIGINT NOT NULL, expires_at_ms BIGINT NOT NULL,
        facts_json TEXT, PRIMARY KEY (user_id, id));
      CREATE UNIQUE INDEX uploads_id ON uploads (id);
      CREATE INDEX uploads_expiry ON uploads (expires_at_ms);

      CREATE TABLE devices (
        user_id TEXT NOT NULL, device_id TEXT NOT NULL, role BIGINT NOT NULL, display_name TEXT NOT NULL,
        created_at_ms BIGINT NOT NULL, acknowledged BIGINT NOT NULL, PRIMARY KEY (user_id, device_id));

      CREATE TABLE messages (
        user_id TEXT NOT NULL, sequence BIGINT NOT NULL, device_id TEXT NOT NULL, mutation_id TEXT NOT NULL,
        payload BYTEA NOT NULL, at_ms BIGINT NOT NULL, PRIMARY KEY (user_id, sequence));
      CREATE UNIQUE INDEX messages_mutation ON messages (user_id, device_id, mutation_id);
      CREATE INDEX messages_time ON messages (at_ms, user_id, sequence);

      CREATE TABLE export_queue (
        user_id TEXT NOT NULL PRIMARY KEY, generation BIGINT NOT NULL, due_ms BIGINT NOT NULL, attempts BIGINT NOT NULL);
      CREATE INDEX export_queue_due ON export_queue (due_ms, user_id);
      """),
    Migration(
      "0002-content-journal",
      """
      INSERT INTO counters (name, value) VALUES ('journal', 0);
      CREATE TABLE content_journal (
        sequence BIGINT NOT NULL PRIMARY KEY, sha256 BYTEA NOT NULL, size_bytes BIGINT NOT NULL, file BYTEA NOT NULL);
      """),
    // Renames fields in stored messages. A quote inside a text is escaped, so only names match.
    Migration(
      "0003-time-fields",
      """
      UPDATE uploads SET facts_json = replace(facts_json, '"syncTimestamp":', '"syncTime":')
        WHERE facts_json IS NOT NULL;
      UPDATE messages
        SET payload = CAST(replace(CAST(payload AS TEXT), '"timestamp":', '"eventTime":') AS BLOB);
      UPDATE store_outbox
        SET payload = CAST(replace(CAST(payload AS TEXT), '"timestamp":', '"eventTime":') AS BLOB)
        WHERE topic = 'apply-update';
      DELETE FROM store_idempotency;
      """, postgreSQL: ""),
    // The service does not replace files that devices write, so such a zone has no export. A service before this
    // version has replaced them at the next change.
    Migration(
      "0004-ended-exports-and-wakes",
      """
      ALTER TABLE zones ADD COLUMN is_export_ended BIGINT NOT NULL DEFAULT 0;
      UPDATE zones SET is_export_ended = 1 WHERE name = 'ZentikSyncZone' AND EXISTS (
        SELECT 1 FROM assets AS a
        JOIN versions AS v ON v.zone_no = a.zone_no AND v.name = a.name AND v.version = a.version
        WHERE a.zone_no = zones.zone_no AND a.name IN ('buckets.json', 'notifications.json') AND v.device_id <> '');

      ALTER TABLE devices ADD COLUMN wakes_for_updates BIGINT NOT NULL DEFAULT 0;
      ALTER TABLE devices ADD COLUMN app TEXT NOT NULL DEFAULT '';
      ALTER TABLE devices ADD COLUMN installation_id TEXT NOT NULL DEFAULT '';
      ALTER TABLE devices ADD COLUMN wakes_spent_ms BIGINT NOT NULL DEFAULT 0;
      ALTER TABLE devices ADD COLUMN woken_at_ms BIGINT;
      UPDATE devices SET installation_id = device_id;

      CREATE TABLE subscriptions (
        user_id TEXT NOT NULL, zone TEXT NOT NULL, device_id TEXT NOT NULL, record_type TEXT NOT NULL,
        name TEXT NOT NULL, PRIMARY KEY (user_id, zone, device_id, record_type, name));
      CREATE INDEX subscriptions_device ON subscriptions (user_id, device_id);

      CREATE TABLE wakes (
        user_id TEXT NOT NULL, device_id TEXT NOT NULL, zones TEXT NOT NULL, generation BIGINT NOT NULL,
        made_ms BIGINT NOT NULL, due_ms BIGINT NOT NULL, attempts BIGINT NOT NULL, PRIMARY KEY (user_id, device_id));
      CREATE INDEX wakes_due ON wakes (due_ms, user_id, device_id);
      """),
    // On SQLite, the files of contents are in a folder.
    Migration("0005-content-chunks", "", postgreSQL: ChunkTable.schemaSQL),
    // Additive: for several processes on one database.
    Migration("0006-upload-writers", "ALTER TABLE uploads ADD COLUMN writer_epoch BIGINT NOT NULL DEFAULT 0;"),
    // Additive, too.
    Migration(
      "0007-awake-devices",
      """
      CREATE TABLE awake_devices (
        user_id TEXT NOT NULL, device_id TEXT NOT NULL, process TEXT NOT NULL,
        PRIMARY KEY (user_id, device_id, process));
      """),
  ]
}
