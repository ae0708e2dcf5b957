public import CampanileStore

/// The schema of the Activities store; migrations run forward only.
public enum ActivitiesMigrations {
  public static let all: [Migration] =
    [
      activities, DeliveryMigrations.delivery, AlertReports.migration, contract, groups, DeliveryMigrations.filters,
      DeliveryMigrations.shared,
    ]

  /// Adds groups of activities that are updated together, and activities whose pushes are stopped.
  private static let groups = Migration(
    "0103-groups",
    """
    ALTER TABLE activities ADD COLUMN group_id TEXT NOT NULL DEFAULT '';
    ALTER TABLE activities ADD COLUMN pushes_stopped BIGINT NOT NULL DEFAULT 0;
    CREATE INDEX activities_group ON activities (app, group_id, user_id, id)
      WHERE ended_at_ms IS NULL AND group_id <> '';
    """)

  /// - `users`: counters of each user, and the sequence up to which their log was compacted.
  /// - `activities`: what an update reads and writes. `token_ids` lists the update tokens in use, so that an update
  ///   need not query them.
  /// - `activity_starts`: columns that only a start needs, kept out of the rows that updates rewrite.
  /// - `scheduled_ends`: the requests to carry out at the scheduled end.
  /// - `push_tokens`: `state` is a `TokenState`. `subject` is the activity of an update token or the attributes type of
  ///   a push-to-start token. A renewed activity has a new `generation`.
  /// - `timers`: events due at a time; at most one of each kind per activity.
  /// - `unread_summaries`: the newest summary of each user.
  /// - `changes`: the change log in commit order. Watches read it by user.
  private static let activities = Migration(
    "0001-activities-tokens-changes",
    """
    CREATE TABLE activities_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);

    CREATE TABLE users (
      user_id TEXT NOT NULL PRIMARY KEY, activity_count BIGINT NOT NULL, token_count BIGINT NOT NULL,
      compacted_through BIGINT NOT NULL, CHECK (activity_count >= 0), CHECK (token_count >= 0));

    CREATE TABLE activities (
      user_id TEXT NOT NULL, id TEXT NOT NULL, app TEXT NOT NULL, environment TEXT NOT NULL, status BIGINT NOT NULL,
      origin BIGINT NOT NULL, created_at_ms BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL, start_ms BIGINT NOT NULL,
      expire_ms BIGINT NOT NULL, scheduled_end_ms BIGINT, ended_at_ms BIGINT, end_reason BIGINT NOT NULL,
      stale_ms BIGINT, relevance_score DOUBLE PRECISION, aps_timestamp BIGINT NOT NULL, renews BIGINT NOT NULL,
      generation BIGINT NOT NULL, channel_id TEXT NOT NULL, token_ids TEXT NOT NULL, version BIGINT NOT NULL,
      driver_kind BIGINT NOT NULL, driver_subject TEXT NOT NULL, driver_json TEXT, content_state TEXT NOT NULL,
      PRIMARY KEY (user_id, id));
    CREATE INDEX activities_list ON activities (user_id, created_at_ms, id);
    CREATE INDEX activities_live ON activities (user_id, created_at_ms, id) WHERE ended_at_ms IS NULL;
    CREATE INDEX activities_driver ON activities (user_id, driver_kind, app, driver_subject)
      WHERE ended_at_ms IS NULL AND driver_kind > 0;
    CREATE INDEX activities_ended ON activities (ended_at_ms) WHERE ended_at_ms IS NOT NULL;

    CREATE TABLE activity_starts (
      user_id TEXT NOT NULL, id TEXT NOT NULL, attributes_type TEXT NOT NULL, attributes TEXT, alert_json TEXT,
      installation_id TEXT NOT NULL, PRIMARY KEY (user_id, id));

    CREATE TABLE scheduled_ends (
      user_id TEXT NOT NULL, id TEXT NOT NULL, request_json TEXT NOT NULL, PRIMARY KEY (user_id, id));

    CREATE TABLE push_tokens (
      token_id TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, kind BIGINT NOT NULL, app TEXT NOT NULL,
      environment TEXT NOT NULL, installation_id TEXT NOT NULL, subject TEXT NOT NULL, generation BIGINT NOT NULL,
      token BYTEA NOT NULL, token_time_ms BIGINT NOT NULL, registered_at_ms BIGINT NOT NULL,
      used_at_ms BIGINT NOT NULL, state BIGINT NOT NULL, retired_at_ms BIGINT, retire_reason TEXT,
      UNIQUE (user_id, kind, app, subject, installation_id, generation));
    CREATE INDEX push_tokens_value ON push_tokens (token, app);
    CREATE INDEX push_tokens_list ON push_tokens (user_id, token_id);
    CREATE INDEX push_tokens_used ON push_tokens (used_at_ms);
    CREATE INDEX push_tokens_retired ON push_tokens (retired_at_ms) WHERE retired_at_ms IS NOT NULL;

    CREATE TABLE timers (
      user_id TEXT NOT NULL, subject_id TEXT NOT NULL, kind BIGINT NOT NULL, due_ms BIGINT NOT NULL,
      PRIMARY KEY (user_id, subject_id, kind));
    CREATE INDEX timers_due ON timers (due_ms, subject_id);

    CREATE TABLE unread_summaries (
      user_id TEXT NOT NULL PRIMARY KEY, sequence BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL, payload BYTEA NOT NULL);

    CREATE TABLE changes (
      sequence BIGINT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, kind BIGINT NOT NULL, activity_id TEXT NOT NULL,
      at_ms BIGINT NOT NULL);
    CREATE INDEX changes_user ON changes (user_id, sequence);
    CREATE TABLE change_cursors (feed TEXT NOT NULL PRIMARY KEY, sequence BIGINT NOT NULL);
    """)
}
