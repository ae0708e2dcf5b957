PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
  component TEXT NOT NULL, position BIGINT NOT NULL, identifier TEXT NOT NULL, checksum TEXT NOT NULL,
  PRIMARY KEY (component, position));
INSERT INTO schema_migrations VALUES('store',0,'store-0001-idempotency-outbox-inbox','5938fc92f93b782044ab0e17b309ab4e1cd075d407dcdd6841264350279fcf3f');
INSERT INTO schema_migrations VALUES('store',1,'store-0002-outbox-trace','57c720fe780ac66a804f1277853438192275c70d2ea831abfecac605454fc8f5');
INSERT INTO schema_migrations VALUES('service',0,'0001-members-meetings-attendance','e6b2ebf2fcbcc00bada6b94b0a40d08c203174ebfe52d09412c28a5a5bf48393');
INSERT INTO schema_migrations VALUES('service',1,'0002-login-records-devices','8938ffcb135a19c1db66730022c59d3a694e9bfbfc5983d07db59c590da5c670');
INSERT INTO schema_migrations VALUES('service',2,'0003-durations-in-settings','edd4561b8ec0cb500f0f871bb235016b373af4d8223d29560aa6852438d1a596');
INSERT INTO schema_migrations VALUES('service',3,'0004-event-times-notices','343e778c0a150dc4196110bec29e97fd6fbb361a5bf4b0cf56670bb34d84edde');
CREATE TABLE store_counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO store_counters VALUES('outbox.sequence',0);
INSERT INTO store_counters VALUES('outbox.pending',0);
CREATE TABLE store_idempotency (
  principal TEXT NOT NULL, method TEXT NOT NULL, request_id TEXT NOT NULL,
  request_hash BYTEA NOT NULL, reply BYTEA NOT NULL, expires_at_ms BIGINT NOT NULL,
  PRIMARY KEY (principal, method, request_id));
CREATE TABLE store_outbox (
  sequence BIGINT NOT NULL PRIMARY KEY, message_id TEXT NOT NULL, topic TEXT NOT NULL, message_key TEXT NOT NULL,
  payload BYTEA NOT NULL, created_at_ms BIGINT NOT NULL, attempts BIGINT NOT NULL DEFAULT 0,
  next_attempt_at_ms BIGINT NOT NULL, is_dead BIGINT NOT NULL DEFAULT 0, last_error TEXT, trace TEXT);
CREATE TABLE store_inbox (
  source TEXT NOT NULL, message_id TEXT NOT NULL, seen_at_ms BIGINT NOT NULL,
  PRIMARY KEY (source, message_id));
CREATE TABLE attendance_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO attendance_meta VALUES('settings','{"timeZone":"Europe/Rome","excusedPausesStreak":true,"excusedLeavesDenominator":true,"checkInOpensBefore":"7200s","checkInClosesAfter":"14400s","etag":"v1","language":"LODGE_LANGUAGE_ENGLISH","exportRole":"MEMBER_ROLE_SECRETARY","notices":{}}');
INSERT INTO attendance_meta VALUES('check-in.key','9b0d2a448de8c5a59b9f4d5ff9fc2758a8d654e23fb591e94ea76d5fbbf22033');
INSERT INTO attendance_meta VALUES('log.epoch','f2dd6cc7fb53267a');
CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO counters VALUES('sequence',11);
INSERT INTO counters VALUES('member',2);
INSERT INTO counters VALUES('meeting',3);
INSERT INTO counters VALUES('tombstones',0);
CREATE TABLE members (
  number BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, name_key TEXT NOT NULL, first_name TEXT NOT NULL,
  last_name TEXT NOT NULL, email TEXT NOT NULL, degree BIGINT NOT NULL, office BIGINT NOT NULL,
  initiation_day BIGINT, passing_day BIGINT, raising_day BIGINT, is_active BIGINT NOT NULL, role BIGINT NOT NULL,
  user_id TEXT, has_pin BIGINT NOT NULL, created_at_ms BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL,
  version BIGINT NOT NULL, erased_at_ms BIGINT, sequence BIGINT NOT NULL, refused_notices BIGINT NOT NULL DEFAULT 0);
INSERT INTO members VALUES(1,'Ada Astolfi','ada astolfi','','','',1,0,18322,NULL,NULL,1,2,NULL,1,1770000000000,1770000000000,2,NULL,2,0);
INSERT INTO members VALUES(2,'Bea Baldi','bea baldi','','','',1,0,NULL,NULL,NULL,1,1,'bea',0,1770000000000,1770000000000,1,NULL,3,0);
CREATE TABLE pins (member_no BIGINT NOT NULL PRIMARY KEY, hash TEXT NOT NULL, set_at_ms BIGINT NOT NULL);
INSERT INTO pins VALUES(1,'$scrypt$ln=1,r=1,p=1$R0hZf0Zmkp7oCpOGOw7PrA$1Fkfy3tWVyrgM00b8OAw165anJLo1f3nuwt7nCGJ2r8',1770000000000);
CREATE TABLE meetings (
  number BIGINT NOT NULL PRIMARY KEY, start_ms BIGINT NOT NULL, day BIGINT NOT NULL, year BIGINT NOT NULL,
  ordinal BIGINT, time_zone TEXT NOT NULL, discussion TEXT NOT NULL, type BIGINT NOT NULL,
  status BIGINT NOT NULL, location TEXT NOT NULL, has_dinner BIGINT NOT NULL, introduced_by TEXT NOT NULL,
  notes TEXT NOT NULL, cover_image_url TEXT NOT NULL, created_at_ms BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL, version BIGINT NOT NULL, sequence BIGINT NOT NULL, reminded_start_ms BIGINT, absences_counted BIGINT NOT NULL DEFAULT 0);
INSERT INTO meetings VALUES(1,1769913600000,20485,2026,NULL,'','The pillars',1,1,'',0,'','','',1770000000000,1770000000000,1,4,NULL,0);
INSERT INTO meetings VALUES(2,1771728000000,20506,2026,NULL,'','Sequoia',1,1,'',0,'','','',1770000000000,1770000000000,1,5,NULL,0);
INSERT INTO meetings VALUES(3,1772592000000,20516,2026,NULL,'','The pillars',1,3,'',0,'','','',1770000000000,1770000000000,2,11,NULL,0);
CREATE TABLE attendance (
  meeting_no BIGINT NOT NULL, member_no BIGINT NOT NULL, status BIGINT NOT NULL, source BIGINT NOT NULL,
  recorded_by TEXT NOT NULL, updated_at_ms BIGINT NOT NULL, version BIGINT NOT NULL, sequence BIGINT NOT NULL, event_ms BIGINT,
  PRIMARY KEY (meeting_no, member_no));
INSERT INTO attendance VALUES(1,1,1,2,'user/root',1770000000000,1,7,NULL);
INSERT INTO attendance VALUES(1,2,2,2,'user/root',1770000000000,2,9,NULL);
INSERT INTO attendance VALUES(2,2,1,2,'user/root',1770000000000,1,10,NULL);
CREATE TABLE member_years (
  member_no BIGINT NOT NULL, year BIGINT NOT NULL, marks BYTEA NOT NULL, PRIMARY KEY (member_no, year));
CREATE TABLE tombstones (
  sequence BIGINT NOT NULL PRIMARY KEY, meeting_no BIGINT NOT NULL, member_no BIGINT, at_ms BIGINT NOT NULL);
CREATE TABLE check_ins (
  meeting_no BIGINT NOT NULL, member_no BIGINT NOT NULL, step BIGINT NOT NULL,
  PRIMARY KEY (meeting_no, member_no, step));
CREATE TABLE sessions (
  token_hash BYTEA NOT NULL PRIMARY KEY, id TEXT NOT NULL, member_no BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL, expires_at_ms BIGINT NOT NULL, ends_at_ms BIGINT NOT NULL,
  address TEXT NOT NULL);
CREATE TABLE calendar_feeds (
  id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, secret_hash BYTEA NOT NULL,
  created_at_ms BIGINT NOT NULL);
CREATE TABLE audit (
  sequence BIGINT NOT NULL PRIMARY KEY, at_ms BIGINT NOT NULL, actor TEXT NOT NULL, address TEXT NOT NULL,
  action TEXT NOT NULL, subject TEXT NOT NULL, undo_of BIGINT NOT NULL, salt BYTEA, old_json TEXT, new_json TEXT,
  value_digest BYTEA NOT NULL, hash BYTEA NOT NULL);
INSERT INTO audit VALUES(1,1770000000000,'user/root','','member.create','m_1',0,X'799c5ee46202db04b271616fca179115',NULL,'{"member":{"id":"m_1","number":"1","name":"Ada Astolfi","degree":"DEGREE_APPRENTICE","office":"OFFICE_NONE","initiationDate":"2020-03-01","active":true,"role":"MEMBER_ROLE_SECRETARY","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1"}}',X'aedeb5cdef5ae569ef1367d49a4f3d97471056fb4635e7bc2b1cb2e491ad1971',X'191b1a3d3a4f70addc6b2c05716aad7b9ca717371847fbb8c7eca46f96852564');
INSERT INTO audit VALUES(2,1770000000000,'user/root','','member.pin','m_1',0,X'4c797b606d9e311a1e6097187835c612',NULL,NULL,X'c7d16707fadf04e2412a2793bbf9445db774b21c52a854654ef3c37f519809f1',X'92b0a4596a4f52fcde5fe3c186b0e08cd74c3f4feffa6f87c0b79871c4d1a8d2');
INSERT INTO audit VALUES(3,1770000000000,'user/root','','member.create','m_2',0,X'd23bf9be274b16350e4e97a3381480e8',NULL,'{"member":{"id":"m_2","number":"2","name":"Bea Baldi","degree":"DEGREE_APPRENTICE","office":"OFFICE_NONE","active":true,"role":"MEMBER_ROLE_MEMBER","userId":"bea","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1"}}',X'f57ff54966a2032abe9c2ff9af836e9d42b528fcd47c51f23130751ea264428a',X'87045fec5399c56b2b08b55e876a568f8e16b4d2ca28b2fb05c76de0eed4923d');
INSERT INTO audit VALUES(4,1770000000000,'user/root','','meeting.create','t_1',0,X'2fb3cdb8af0f2785d9de151b2ac3f657',NULL,'{"meeting":{"id":"t_1","number":"1","startTime":"2026-02-01T02:40:00Z","discussion":"The pillars","type":"MEETING_TYPE_ORDINARY","status":"MEETING_STATUS_SCHEDULED","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1","year":2026}}',X'c66045a146c2d2c36287a80160f1fab7442b29eb7dcf82af852c89bcb234a0ec',X'548d770ef175362479d0f19301c33b3fd2e69d777bd8d054ab55646c2a7e33a3');
INSERT INTO audit VALUES(5,1770000000000,'user/root','','meeting.create','t_2',0,X'3e0eb0030b3622bd267a46152bad3b89',NULL,'{"meeting":{"id":"t_2","number":"2","startTime":"2026-02-22T02:40:00Z","discussion":"Sequoia","type":"MEETING_TYPE_ORDINARY","status":"MEETING_STATUS_SCHEDULED","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1","year":2026}}',X'12beb739e1441b9ac691857b927d165f29a9bd0653ef34a2440bd047174fb8c6',X'b9a1f50926ecb6bb3d3a53bac8e100e5fa2c8638beb486a6c695d8c40a01b56e');
INSERT INTO audit VALUES(6,1770000000000,'user/root','','meeting.create','t_3',0,X'a10cdd1f79f3ba638c20d2874805d469',NULL,'{"meeting":{"id":"t_3","number":"3","startTime":"2026-03-04T02:40:00Z","discussion":"The pillars","type":"MEETING_TYPE_ORDINARY","status":"MEETING_STATUS_SCHEDULED","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1","year":2026}}',X'b64791253bfa1f6a03f66d8c1bc370c9540214e35841c1eaea615959d4c110c3',X'48d00137b31f8e7424de4f542dc5fd1f316dcbf522d040fe9a73ea4ac518a035');
INSERT INTO audit VALUES(7,1770000000000,'user/root','','attendance.record','t_1/m_1',0,X'cc847cdafa2a80f8f7788e7befdbc52a',NULL,'{"attendances":[{"memberId":"m_1","meetingId":"t_1","status":"ATTENDANCE_STATUS_PRESENT","source":"ATTENDANCE_SOURCE_RECORDED","recordedBy":"user/root","updateTime":"2026-02-02T02:40:00Z","etag":"v1","eventTime":"2026-02-02T02:40:00Z"}]}',X'dde25bc1c1e463e3a73705c5ea0aea81b7a325ba926118507faa8cd5fef19c87',X'c821d77b61d4f859314ad9576c683ce8633c7fedbb426fef17156138b6d4b67a');
INSERT INTO audit VALUES(8,1770000000000,'user/root','','attendance.record','t_1/m_2',0,X'db237b60de6c0b5f1ded85359696a7c1',NULL,'{"attendances":[{"memberId":"m_2","meetingId":"t_1","status":"ATTENDANCE_STATUS_EXCUSED","source":"ATTENDANCE_SOURCE_RECORDED","recordedBy":"user/root","updateTime":"2026-02-02T02:40:00Z","etag":"v1","eventTime":"2026-02-02T02:40:00Z"}]}',X'e6cb4e87363c11e1f48c1e57c8231b4d88a5b283840ffa6c64a9ae720e1aa249',X'e386c160c85d0d0f8df1f0e65013fb89b3a45e6187e8dd6935911704473f2dc3');
INSERT INTO audit VALUES(9,1770000000000,'user/root','','attendance.record','t_1/m_2',0,X'e5d73acb5ccf07b6c304920be685021e','{"attendances":[{"memberId":"m_2","meetingId":"t_1","status":"ATTENDANCE_STATUS_EXCUSED","source":"ATTENDANCE_SOURCE_RECORDED","recordedBy":"user/root","updateTime":"2026-02-02T02:40:00Z","etag":"v1","eventTime":"2026-02-02T02:40:00Z"}]}','{"attendances":[{"memberId":"m_2","meetingId":"t_1","status":"ATTENDANCE_STATUS_ABSENT","source":"ATTENDANCE_SOURCE_RECORDED","recordedBy":"user/root","updateTime":"2026-02-02T02:40:00Z","etag":"v2","eventTime":"2026-02-02T02:40:00Z"}]}',X'9a732c927e0d69c0fb8c0ab42c4a2a7bd3f9f14cd6681f0d561045c80d57b427',X'6a576cc493742a47389c28e877c22af4db1c0e3f1242e537b1d5d28acec91ef3');
INSERT INTO audit VALUES(10,1770000000000,'user/root','','attendance.record','t_2/m_2',0,X'83a0a50ec214f74438d55d93102e422c',NULL,'{"attendances":[{"memberId":"m_2","meetingId":"t_2","status":"ATTENDANCE_STATUS_PRESENT","source":"ATTENDANCE_SOURCE_RECORDED","recordedBy":"user/root","updateTime":"2026-02-02T02:40:00Z","etag":"v1","eventTime":"2026-02-02T02:40:00Z"}]}',X'd40d5add97738911b00ea68897230e8c65c64468ad2d26b38c7317586d0a06c1',X'b3d91d933e692d55937ad880c0435c8394175232fc87b257245c1c2b195a188a');
INSERT INTO audit VALUES(11,1770000000000,'user/root','','meeting.cancel','t_3',0,X'768730dac1de58cefed10560b9071a29','{"meeting":{"id":"t_3","number":"3","startTime":"2026-03-04T02:40:00Z","discussion":"The pillars","type":"MEETING_TYPE_ORDINARY","status":"MEETING_STATUS_SCHEDULED","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1","year":2026}}','{"meeting":{"id":"t_3","number":"3","startTime":"2026-03-04T02:40:00Z","discussion":"The pillars","type":"MEETING_TYPE_ORDINARY","status":"MEETING_STATUS_CANCELLED","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v2","year":2026}}',X'48f6cb5207c269fc4b0515eb73f55ed90e3a14bd09248425d2148f33d33e4f8c',X'ab713b6dccbc36c3903f225fd2ab3710f5f61a9708be589653ec6e5e99c3c6c6');
CREATE TABLE login_records (
  subject TEXT NOT NULL PRIMARY KEY, member_no BIGINT, in_row BIGINT NOT NULL, total BIGINT NOT NULL,
  window_start_ms BIGINT NOT NULL, last_ms BIGINT NOT NULL, locked_at_ms BIGINT NOT NULL);
CREATE TABLE login_devices (
  token_hash BYTEA NOT NULL PRIMARY KEY, member_no BIGINT NOT NULL, created_at_ms BIGINT NOT NULL,
  last_login_ms BIGINT NOT NULL, failures BIGINT NOT NULL);
CREATE TABLE notice_jobs (
  meeting_no BIGINT NOT NULL, kind BIGINT NOT NULL, revision BIGINT NOT NULL, due_ms BIGINT NOT NULL,
  after_member BIGINT NOT NULL, start_ms BIGINT NOT NULL, old_start_ms BIGINT, time_zone TEXT NOT NULL,
  discussion TEXT NOT NULL, location TEXT NOT NULL, PRIMARY KEY (meeting_no, kind));
CREATE TABLE notice_buckets (user_id TEXT NOT NULL PRIMARY KEY, bucket_id TEXT NOT NULL);
CREATE INDEX store_idempotency_expiry ON store_idempotency (expires_at_ms);
CREATE INDEX store_outbox_order ON store_outbox (is_dead, sequence);
CREATE INDEX store_outbox_key ON store_outbox (topic, message_key, is_dead, sequence);
CREATE INDEX store_outbox_waiting ON store_outbox (is_dead, next_attempt_at_ms);
CREATE INDEX store_inbox_age ON store_inbox (seen_at_ms);
CREATE UNIQUE INDEX members_name ON members (name_key);
CREATE INDEX members_active ON members (name_key) WHERE is_active = 1;
CREATE UNIQUE INDEX members_user ON members (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX members_sequence ON members (sequence);
CREATE INDEX meetings_start ON meetings (start_ms, number);
CREATE INDEX meetings_year ON meetings (year, start_ms, number);
CREATE INDEX meetings_status ON meetings (status, start_ms, number);
CREATE INDEX meetings_year_status ON meetings (year, status, start_ms, number);
CREATE INDEX meetings_ordinal ON meetings (year, ordinal) WHERE ordinal IS NOT NULL;
CREATE INDEX meetings_sequence ON meetings (sequence);
CREATE INDEX attendance_sequence ON attendance (sequence);
CREATE INDEX check_ins_step ON check_ins (step);
CREATE INDEX sessions_member ON sessions (member_no, id);
CREATE INDEX sessions_expiry ON sessions (expires_at_ms);
CREATE UNIQUE INDEX calendar_feeds_secret ON calendar_feeds (secret_hash);
CREATE INDEX calendar_feeds_owner ON calendar_feeds (owner, id);
CREATE INDEX audit_subject ON audit (subject, sequence);
CREATE INDEX login_records_locked ON login_records (member_no) WHERE locked_at_ms > 0 AND member_no IS NOT NULL;
CREATE INDEX login_records_unknown ON login_records (locked_at_ms, last_ms) WHERE member_no IS NULL;
CREATE INDEX login_devices_member ON login_devices (member_no, last_login_ms);
CREATE INDEX login_devices_last ON login_devices (last_login_ms);
CREATE INDEX notice_jobs_due ON notice_jobs (due_ms, meeting_no, kind);
COMMIT;
PRAGMA application_id = 1128353104;
