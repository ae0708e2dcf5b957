/// The store's own tables. BYTEA and BIGINT are PostgreSQL's type names, which SQLite accepts for blobs and integers.
enum StoreSchema {
  static let migrations = [
    Migration(
      "store-0001-idempotency-outbox-inbox",
      """
      CREATE TABLE store_counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
      INSERT INTO store_counters (name, value) VALUES ('outbox.sequence', 0), ('outbox.pending', 0);

      CREATE TABLE store_idempotency (
        principal TEXT NOT NULL, method TEXT NOT NULL, request_id TEXT NOT NULL,
        request_hash BYTEA NOT NULL, reply BYTEA NOT NULL, expires_at_ms BIGINT NOT NULL,
        PRIMARY KEY (principal, method, request_id));
      CREATE INDEX store_idempotency_expiry ON store_idempotency (expires_at_ms);

      CREATE TABLE store_outbox (
        sequence BIGINT NOT NULL PRIMARY KEY, message_id TEXT NOT NULL, topic TEXT NOT NULL, message_key TEXT NOT NULL,
        payload BYTEA NOT NULL, created_at_ms BIGINT NOT NULL, attempts BIGINT NOT NULL DEFAULT 0,
        next_attempt_at_ms BIGINT NOT NULL, is_dead BIGINT NOT NULL DEFAULT 0, last_error TEXT);
      CREATE INDEX store_outbox_order ON store_outbox (is_dead, sequence);
      CREATE INDEX store_outbox_key ON store_outbox (topic, message_key, is_dead, sequence);
      CREATE INDEX store_outbox_waiting ON store_outbox (is_dead, next_attempt_at_ms);

      CREATE TABLE store_inbox (
        source TEXT NOT NULL, message_id TEXT NOT NULL, seen_at_ms BIGINT NOT NULL,
        PRIMARY KEY (source, message_id));
      CREATE INDEX store_inbox_age ON store_inbox (seen_at_ms);
      """),
    Migration("store-0002-outbox-trace", "ALTER TABLE store_outbox ADD COLUMN trace TEXT"),
  ]
}
