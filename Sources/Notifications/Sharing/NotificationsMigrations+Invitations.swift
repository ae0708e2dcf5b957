import CampanileStore

extension NotificationsMigrations {
  /// - `invitations`: one row per bucket and invited user. A row is retained for 30 days after the invitation ended,
  ///   which limits how often an owner can invite the same user. `ends_at_ms` is the expiry of a pending invitation and
  ///   the end of any other. `is_hidden` is set if the user had blocked the inviter or the owner.
  /// - `invite_codes`: like `publish_keys`, with a maximum number of uses.
  /// - `users`: counts shared buckets separately from the user's own. Existing shares become accepted ones.
  static let invitations = Migration(
    "0007-invitations",
    """
    CREATE TABLE invitations (
      id TEXT NOT NULL PRIMARY KEY, owner_id TEXT NOT NULL, bucket_id TEXT NOT NULL, user_id TEXT NOT NULL,
      inviter_id TEXT NOT NULL, bucket_name TEXT NOT NULL, role BIGINT NOT NULL, share_expires_at_ms BIGINT,
      created_at_ms BIGINT NOT NULL, ends_at_ms BIGINT NOT NULL, state BIGINT NOT NULL, is_hidden BIGINT NOT NULL);
    CREATE UNIQUE INDEX invitations_bucket ON invitations (owner_id, bucket_id, user_id);
    CREATE INDEX invitations_pair ON invitations (owner_id, user_id);
    CREATE INDEX invitations_received ON invitations (user_id, id) WHERE state = 1 AND is_hidden = 0;
    CREATE INDEX invitations_end ON invitations (ends_at_ms);

    CREATE TABLE invite_codes (
      id TEXT NOT NULL PRIMARY KEY, owner_id TEXT NOT NULL, bucket_id TEXT NOT NULL, creator_id TEXT NOT NULL,
      role BIGINT NOT NULL, max_uses BIGINT NOT NULL, use_count BIGINT NOT NULL, hint TEXT NOT NULL,
      secret_hash BYTEA NOT NULL, created_at_ms BIGINT NOT NULL, expires_at_ms BIGINT NOT NULL);
    CREATE INDEX invite_codes_bucket ON invite_codes (owner_id, bucket_id, id);
    CREATE UNIQUE INDEX invite_codes_secret ON invite_codes (secret_hash);
    CREATE INDEX invite_codes_expiry ON invite_codes (expires_at_ms);

    CREATE TABLE blocked_users (
      user_id TEXT NOT NULL, blocked_id TEXT NOT NULL, created_at_ms BIGINT NOT NULL,
      PRIMARY KEY (user_id, blocked_id));

    ALTER TABLE users ADD COLUMN shared_bucket_count BIGINT NOT NULL DEFAULT 0 CHECK (shared_bucket_count >= 0);
    UPDATE users SET
      shared_bucket_count = (
        SELECT count(*) FROM buckets AS b
        WHERE b.user_id = users.user_id AND b.owner_id <> '' AND b.deleted_at_ms IS NULL),
      bucket_count = (
        SELECT count(*) FROM buckets AS b
        WHERE b.user_id = users.user_id AND b.owner_id = '' AND b.role = 4 AND b.deleted_at_ms IS NULL)
      WHERE EXISTS (SELECT 1 FROM buckets AS b WHERE b.user_id = users.user_id AND b.owner_id <> '');
    """)
}
