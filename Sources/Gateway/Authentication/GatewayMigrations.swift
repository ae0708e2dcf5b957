import CampanileStore

/// The schema of `gateway.sqlite`. Times are milliseconds since 1970.
enum GatewayMigrations {
  static let all = [
    Migration(
      "0001-create-api-keys",
      """
      CREATE TABLE api_keys (
        id TEXT NOT NULL PRIMARY KEY, digest BYTEA NOT NULL UNIQUE, principal TEXT NOT NULL, scopes TEXT NOT NULL,
        description TEXT NOT NULL, created_at_ms BIGINT NOT NULL, expires_at_ms BIGINT, revoked_at_ms BIGINT,
        last_used_at_ms BIGINT);
      CREATE INDEX api_keys_newest ON api_keys (created_at_ms DESC, id DESC);
      CREATE INDEX api_keys_newest_active ON api_keys (created_at_ms DESC, id DESC) WHERE revoked_at_ms IS NULL;
      CREATE INDEX api_keys_revoked ON api_keys (revoked_at_ms) WHERE revoked_at_ms IS NOT NULL;
      CREATE INDEX api_keys_expiry ON api_keys (expires_at_ms) WHERE expires_at_ms IS NOT NULL;
      """),
    // A rotation changes when the old key expires. Store the original lifetime separately, because the new key inherits
    // it.
    Migration(
      "0002-keep-lifetimes-of-api-keys",
      """
      ALTER TABLE api_keys ADD COLUMN lifetime_ms BIGINT;
      UPDATE api_keys SET lifetime_ms = expires_at_ms - created_at_ms WHERE expires_at_ms IS NOT NULL;
      """),
    // Supports evicting a principal's oldest responses in favour of new ones.
    Migration(
      "0003-index-replies-by-principal",
      """
      CREATE INDEX replies_of_principal ON store_idempotency (principal, expires_at_ms);
      """),
    // Deletes the stored responses, because the contract of the services has changed.
    Migration(
      "0004-store-requests-for-api-keys",
      """
      CREATE TABLE api_key_requests (
        principal TEXT NOT NULL, method TEXT NOT NULL, request_id TEXT NOT NULL, request_hash BYTEA NOT NULL,
        reply BYTEA NOT NULL, expires_at_ms BIGINT NOT NULL, PRIMARY KEY (principal, method, request_id));
      CREATE INDEX api_key_requests_expiry ON api_key_requests (expires_at_ms);
      DELETE FROM store_idempotency;
      """),
    // A key of a device cannot act as another device of its user. Existing keys are not bound.
    Migration(
      "0005-bind-api-keys-to-devices", "ALTER TABLE api_keys ADD COLUMN device_id TEXT NOT NULL DEFAULT '';"),
    Migration(
      "0006-create-console-sessions",
      """
      CREATE TABLE console_sessions (
        id TEXT NOT NULL PRIMARY KEY, digest BYTEA NOT NULL UNIQUE, principal TEXT NOT NULL, scopes TEXT NOT NULL,
        device_id TEXT NOT NULL, method BIGINT NOT NULL, key_id TEXT NOT NULL, lodge_member_id TEXT NOT NULL,
        lodge_secret BYTEA NOT NULL, created_at_ms BIGINT NOT NULL, ends_at_ms BIGINT NOT NULL,
        used_at_ms BIGINT NOT NULL, address TEXT NOT NULL, user_agent TEXT NOT NULL);
      CREATE TABLE audit_events (
        id INTEGER PRIMARY KEY, created_at_ms BIGINT NOT NULL, action BIGINT NOT NULL,
        principal TEXT NOT NULL, address TEXT NOT NULL, subject TEXT NOT NULL, method BIGINT NOT NULL,
        count BIGINT NOT NULL, reason TEXT NOT NULL);
      CREATE INDEX audit_events_of_action ON audit_events (action, id);
      CREATE INDEX audit_events_age ON audit_events (created_at_ms);
      """),
  ]
}
