public import CampanileStore

/// The migrations of the Attendance store, forward only.
public enum AttendanceMigrations {
  /// - `members`, `meetings`, `attendance`: each row carries the `sequence` of its last change. Sequences ascend in
  ///   commit order, so a client that catches up receives each object once, in its current state.
  /// - `tombstones`: the deletions.
  /// - `meetings.ordinal`: the position among the completed meetings of its year; NULL for other meetings.
  /// - `member_years`: a member's marks for the completed meetings of a year, one byte each in the order of `ordinal`
  ///   (see `Marks`). Statistics read them. A member has a row for every year that has a completed meeting.
  /// - `audit`: append-only. `hash` covers the entry, `value_digest` and the previous hash. `value_digest` covers
  ///   `salt` and both values. The values and their salt can therefore be erased without breaking the chain.
  /// - `login_records`: failed logins of members, and of unknown names by their SHA-256 (see `LoginRecord`).
  /// - `login_attempts`: recent failures and successes by name and origin (see `LoginThrottle`). `end_ms`: the time
  ///   from which the row no longer matters.
  /// - `login_devices`: device tokens of members by their SHA-256, with the failures since their last login.
  /// - `0003` gives the stored settings durations in place of numbers of hours and minutes, and deletes stored replies,
  ///   which have earlier names. The audit log keeps them, because its hash chain covers them (see `AuditNames`).
  /// - `attendance.event_ms`: the time of the decision; NULL if it is `updated_at_ms`.
  /// - `members.refused_notices`: one bit for each kind (see `RefusedNotices`).
  /// - `meetings.reminded_start_ms`: the start for which members were reminded. `absences_counted`: whether notices
  ///   about absences were sent after the meeting.
  /// - `notice_jobs`: the notices that are being handed out to members. `notice_buckets`: their buckets, by user.
  public static let all: [Migration] = [
    Migration(
      "0001-members-meetings-attendance",
      """
      CREATE TABLE attendance_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
      CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
      INSERT INTO counters (name, value) VALUES ('sequence', 0), ('member', 0), ('meeting', 0), ('tombstones', 0);

      CREATE TABLE members (
        number BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, name_key TEXT NOT NULL, first_name TEXT NOT NULL,
        last_name TEXT NOT NULL, email TEXT NOT NULL, degree BIGINT NOT NULL, office BIGINT NOT NULL,
        initiation_day BIGINT, passing_day BIGINT, raising_day BIGINT, is_active BIGINT NOT NULL, role BIGINT NOT NULL,
        user_id TEXT, has_pin BIGINT NOT NULL, created_at_ms BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL,
        version BIGINT NOT NULL, erased_at_ms BIGINT, sequence BIGINT NOT NULL);
      CREATE UNIQUE INDEX members_name ON members (name_key);
      CREATE INDEX members_active ON members (name_key) WHERE is_active = 1;
      CREATE UNIQUE INDEX members_user ON members (user_id) WHERE user_id IS NOT NULL;
      CREATE INDEX members_sequence ON members (sequence);

      CREATE TABLE pins (member_no BIGINT NOT NULL PRIMARY KEY, hash TEXT NOT NULL, set_at_ms BIGINT NOT NULL);

      CREATE TABLE meetings (
        number BIGINT NOT NULL PRIMARY KEY, start_ms BIGINT NOT NULL, day BIGINT NOT NULL, year BIGINT NOT NULL,
        ordinal BIGINT, time_zone TEXT NOT NULL, discussion TEXT NOT NULL, type BIGINT NOT NULL,
        status BIGINT NOT NULL, location TEXT NOT NULL, has_dinner BIGINT NOT NULL, introduced_by TEXT NOT NULL,
        notes TEXT NOT NULL, cover_image_url TEXT NOT NULL, created_at_ms BIGINT NOT NULL,
        updated_at_ms BIGINT NOT NULL, version BIGINT NOT NULL, sequence BIGINT NOT NULL);
      CREATE INDEX meetings_start ON meetings (start_ms, number);
      CREATE INDEX meetings_year ON meetings (year, start_ms, number);
      CREATE INDEX meetings_status ON meetings (status, start_ms, number);
      CREATE INDEX meetings_year_status ON meetings (year, status, start_ms, number);
      CREATE INDEX meetings_ordinal ON meetings (year, ordinal) WHERE ordinal IS NOT NULL;
      CREATE INDEX meetings_sequence ON meetings (sequence);

      CREATE TABLE attendance (
        meeting_no BIGINT NOT NULL, member_no BIGINT NOT NULL, status BIGINT NOT NULL, source BIGINT NOT NULL,
        recorded_by TEXT NOT NULL, updated_at_ms BIGINT NOT NULL, version BIGINT NOT NULL, sequence BIGINT NOT NULL,
        PRIMARY KEY (meeting_no, member_no));
      CREATE INDEX attendance_sequence ON attendance (sequence);

      CREATE TABLE member_years (
        member_no BIGINT NOT NULL, year BIGINT NOT NULL, marks BYTEA NOT NULL, PRIMARY KEY (member_no, year));

      CREATE TABLE tombstones (
        sequence BIGINT NOT NULL PRIMARY KEY, meeting_no BIGINT NOT NULL, member_no BIGINT, at_ms BIGINT NOT NULL);

      CREATE TABLE check_ins (
        meeting_no BIGINT NOT NULL, member_no BIGINT NOT NULL, step BIGINT NOT NULL,
        PRIMARY KEY (meeting_no, member_no, step));
      CREATE INDEX check_ins_step ON check_ins (step);

      CREATE TABLE sessions (
        token_hash BYTEA NOT NULL PRIMARY KEY, id TEXT NOT NULL, member_no BIGINT NOT NULL,
        created_at_ms BIGINT NOT NULL, expires_at_ms BIGINT NOT NULL, ends_at_ms BIGINT NOT NULL,
        address TEXT NOT NULL);
      CREATE INDEX sessions_member ON sessions (member_no, id);
      CREATE INDEX sessions_expiry ON sessions (expires_at_ms);

      CREATE TABLE calendar_feeds (
        id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, secret_hash BYTEA NOT NULL,
        created_at_ms BIGINT NOT NULL);
      CREATE UNIQUE INDEX calendar_feeds_secret ON calendar_feeds (secret_hash);
      CREATE INDEX calendar_feeds_owner ON calendar_feeds (owner, id);

      CREATE TABLE audit (
        sequence BIGINT NOT NULL PRIMARY KEY, at_ms BIGINT NOT NULL, actor TEXT NOT NULL, address TEXT NOT NULL,
        action TEXT NOT NULL, subject TEXT NOT NULL, undo_of BIGINT NOT NULL, salt BYTEA, old_json TEXT, new_json TEXT,
        value_digest BYTEA NOT NULL, hash BYTEA NOT NULL);
      CREATE INDEX audit_subject ON audit (subject, sequence);
      """),
    Migration(
      "0002-login-records-devices",
      """
      CREATE TABLE login_records (
        subject TEXT NOT NULL PRIMARY KEY, member_no BIGINT, in_row BIGINT NOT NULL, total BIGINT NOT NULL,
        window_start_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL, locked_at_ms BIGINT NOT NULL);
      CREATE INDEX login_records_locked ON login_records (member_no) WHERE locked_at_ms > 0 AND member_no IS NOT NULL;
      CREATE INDEX login_records_unknown ON login_records (locked_at_ms, last_ms) WHERE member_no IS NULL;

      CREATE TABLE login_devices (
        token_hash BYTEA NOT NULL PRIMARY KEY, member_no BIGINT NOT NULL, created_at_ms BIGINT NOT NULL,
        last_login_ms BIGINT NOT NULL, failures BIGINT NOT NULL);
      CREATE INDEX login_devices_member ON login_devices (member_no, last_login_ms);
      CREATE INDEX login_devices_last ON login_devices (last_login_ms);
      """),
    Migration(
      "0003-durations-in-settings",
      """
      UPDATE attendance_meta SET value = json_remove(
          json_set(value,
            '$.lateConfirmation', (coalesce(json_extract(value, '$.lateConfirmationHours'), 0) * 3600) || 's',
            '$.checkInOpensBefore', (coalesce(json_extract(value, '$.checkInOpensMinutesBefore'), 0) * 60) || 's',
            '$.checkInClosesAfter', (coalesce(json_extract(value, '$.checkInClosesMinutesAfter'), 0) * 60) || 's'),
          '$.lateConfirmationHours', '$.checkInOpensMinutesBefore', '$.checkInClosesMinutesAfter')
        WHERE name = 'settings';
      DELETE FROM store_idempotency;
      """, postgreSQL: ""),
    Migration(
      "0004-event-times-notices",
      """
      ALTER TABLE attendance ADD COLUMN event_ms BIGINT;
      ALTER TABLE members ADD COLUMN refused_notices BIGINT NOT NULL DEFAULT 0;
      ALTER TABLE meetings ADD COLUMN reminded_start_ms BIGINT;
      ALTER TABLE meetings ADD COLUMN absences_counted BIGINT NOT NULL DEFAULT 0;

      CREATE TABLE notice_jobs (
        meeting_no BIGINT NOT NULL, kind BIGINT NOT NULL, revision BIGINT NOT NULL, due_ms BIGINT NOT NULL,
        after_member BIGINT NOT NULL, start_ms BIGINT NOT NULL, old_start_ms BIGINT, time_zone TEXT NOT NULL,
        discussion TEXT NOT NULL, location TEXT NOT NULL, PRIMARY KEY (meeting_no, kind));
      CREATE INDEX notice_jobs_due ON notice_jobs (due_ms, meeting_no, kind);

      CREATE TABLE notice_buckets (user_id TEXT NOT NULL PRIMARY KEY, bucket_id TEXT NOT NULL);
      """),
    Migration(
      "0005-login-attempts",
      """
      CREATE TABLE login_attempts (
        subject TEXT NOT NULL, origin TEXT NOT NULL, failures BIGINT NOT NULL, last_ms BIGINT NOT NULL,
        success_ms BIGINT, end_ms BIGINT NOT NULL, PRIMARY KEY (subject, origin));
      CREATE INDEX login_attempts_end ON login_attempts (end_ms);
      CREATE INDEX login_attempts_last ON login_attempts (last_ms);
      """),
  ]
}
