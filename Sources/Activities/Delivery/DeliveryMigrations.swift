import CampanileStore

/// The tables of signing and delivery, for the service's list of migrations.
enum DeliveryMigrations {
  static let all = [delivery, filters, shared]

  /// Adds what the processes on one database of a server share. On SQLite, these tables are empty.
  ///
  /// - `signing_keys`: the keys that were added by RPC; see `SigningKeyTable`.
  /// - `push_ends`: the ids of the newest pushes that have ended, in the order of their commits; see `PushEndTable`.
  /// - `delivery_meta`: see `DeliveryMeta`.
  static let shared = Migration(
    "0105-shared-delivery",
    """
    CREATE TABLE signing_keys (
      team_id TEXT NOT NULL, key_id TEXT NOT NULL, description TEXT NOT NULL, private_key TEXT NOT NULL,
      PRIMARY KEY (team_id, key_id));
    CREATE TABLE push_ends (sequence BIGINT NOT NULL PRIMARY KEY, apns_id TEXT NOT NULL);
    CREATE TABLE delivery_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    """)

  /// Adds the tokens of pushes to the delivery log, and indexes for lists of failures. Accepted pushes, which are
  /// almost all, are in neither index.
  static let filters = Migration(
    "0104-push-filters",
    """
    ALTER TABLE push_ledger ADD COLUMN target_id TEXT;
    CREATE INDEX push_ledger_outcome ON push_ledger (outcome, apns_id) WHERE outcome <> 1;
    CREATE INDEX push_ledger_reason ON push_ledger (reason, apns_id) WHERE reason <> '';
    """)

  /// - `push_routes`: pairs of app and environment, read separately so that a blocked route does not delay the others.
  /// - `pushes`: the queue. `state` is a `PushState`; at most one row per lane is ready or taken.
  /// - `push_budgets`: remaining pushes with priority 10, by lane.
  /// - `push_ledger`: the delivery log, with the result of each push. Ids ascend with time.
  /// - `dead_letters`: complete copies of pushes that were given up, for replay.
  /// - `push_statistics`: counts by app, hour and measure (`StatisticsMeasure`).
  /// - `provider_tokens`: the last token of each signing key with its time, because APNs requires 20 minutes between
  ///   tokens.
  /// - `push_channels`: the broadcast channels that this service created or read at APNs. They never change.
  static let delivery = Migration(
    "0100-delivery",
    """
    CREATE TABLE push_routes (
      id BIGINT NOT NULL PRIMARY KEY, app TEXT NOT NULL, environment TEXT NOT NULL, UNIQUE (app, environment));

    CREATE TABLE pushes (
      lane TEXT NOT NULL, apns_id TEXT NOT NULL, state BIGINT NOT NULL, route_id BIGINT NOT NULL, kind BIGINT NOT NULL,
      user_id TEXT NOT NULL, activity_id TEXT, target_kind BIGINT NOT NULL, target_id TEXT NOT NULL,
      push_type TEXT NOT NULL, priority BIGINT NOT NULL, payload BYTEA NOT NULL, expiration_ms BIGINT, collapse_id TEXT,
      trace_parent TEXT, due_ms BIGINT NOT NULL, queued_at_ms BIGINT NOT NULL, attempts BIGINT NOT NULL,
      is_renewed BIGINT NOT NULL, last_reason TEXT,
      PRIMARY KEY (lane, apns_id));
    CREATE INDEX pushes_due ON pushes (route_id, due_ms, lane) WHERE state = 0;
    CREATE INDEX pushes_id ON pushes (apns_id);

    CREATE TABLE push_budgets (
      lane TEXT NOT NULL PRIMARY KEY, level_thousandths BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL);
    CREATE INDEX push_budgets_time ON push_budgets (updated_at_ms);

    CREATE TABLE push_ledger (
      apns_id TEXT NOT NULL PRIMARY KEY, route_id BIGINT NOT NULL, user_id TEXT NOT NULL, activity_id TEXT,
      kind BIGINT NOT NULL, push_type TEXT NOT NULL, priority BIGINT NOT NULL, outcome BIGINT NOT NULL,
      status BIGINT NOT NULL, reason TEXT NOT NULL, attempts BIGINT NOT NULL, queued_at_ms BIGINT NOT NULL,
      settled_at_ms BIGINT NOT NULL, latency_ms BIGINT NOT NULL, trace_parent TEXT);
    CREATE INDEX push_ledger_activity ON push_ledger (activity_id, apns_id) WHERE activity_id IS NOT NULL;
    CREATE INDEX push_ledger_user ON push_ledger (user_id, apns_id);

    CREATE TABLE dead_letters (
      apns_id TEXT NOT NULL PRIMARY KEY, lane TEXT NOT NULL, route_id BIGINT NOT NULL, kind BIGINT NOT NULL,
      user_id TEXT NOT NULL, activity_id TEXT, target_kind BIGINT NOT NULL, target_id TEXT NOT NULL,
      push_type TEXT NOT NULL, priority BIGINT NOT NULL, payload BYTEA NOT NULL, expiration_ms BIGINT, collapse_id TEXT,
      trace_parent TEXT, queued_at_ms BIGINT NOT NULL, attempts BIGINT NOT NULL, failed_at_ms BIGINT NOT NULL,
      status BIGINT NOT NULL, reason TEXT NOT NULL);
    CREATE INDEX dead_letters_lane ON dead_letters (lane, apns_id);

    CREATE TABLE push_statistics (
      app TEXT NOT NULL, hour_ms BIGINT NOT NULL, measure TEXT NOT NULL, count BIGINT NOT NULL,
      PRIMARY KEY (app, hour_ms, measure));
    CREATE INDEX push_statistics_time ON push_statistics (hour_ms);

    CREATE TABLE provider_tokens (
      team_id TEXT NOT NULL, key_id TEXT NOT NULL, token TEXT NOT NULL, issued_at_ms BIGINT NOT NULL,
      PRIMARY KEY (team_id, key_id));
    CREATE TABLE revoked_keys (
      team_id TEXT NOT NULL, key_id TEXT NOT NULL, revoked_at_ms BIGINT NOT NULL, PRIMARY KEY (team_id, key_id));

    CREATE TABLE push_channels (
      app TEXT NOT NULL, environment TEXT NOT NULL, channel_id TEXT NOT NULL, storage_policy BIGINT NOT NULL,
      created_at_ms BIGINT NOT NULL, PRIMARY KEY (app, environment, channel_id));
    """)
}
