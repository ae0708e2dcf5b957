CREATE TABLE attendance (
    meeting_no bigint NOT NULL,
    member_no bigint NOT NULL,
    status bigint NOT NULL,
    source bigint NOT NULL,
    recorded_by text NOT NULL,
    updated_at_ms bigint NOT NULL,
    version bigint NOT NULL,
    sequence bigint NOT NULL,
    event_ms bigint
);
CREATE TABLE attendance_meta (
    name text NOT NULL,
    value text NOT NULL
);
CREATE TABLE audit (
    sequence bigint NOT NULL,
    at_ms bigint NOT NULL,
    actor text NOT NULL,
    address text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    undo_of bigint NOT NULL,
    salt bytea,
    old_json text,
    new_json text,
    value_digest bytea NOT NULL,
    hash bytea NOT NULL
);
CREATE TABLE calendar_feeds (
    id text NOT NULL,
    owner text NOT NULL,
    name text NOT NULL,
    secret_hash bytea NOT NULL,
    created_at_ms bigint NOT NULL
);
CREATE TABLE check_ins (
    meeting_no bigint NOT NULL,
    member_no bigint NOT NULL,
    step bigint NOT NULL
);
CREATE TABLE counters (
    name text NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE login_attempts (
    subject text NOT NULL,
    origin text NOT NULL,
    failures bigint NOT NULL,
    last_ms bigint NOT NULL,
    success_ms bigint,
    end_ms bigint NOT NULL
);
CREATE TABLE login_devices (
    token_hash bytea NOT NULL,
    member_no bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    last_login_ms bigint NOT NULL,
    failures bigint NOT NULL
);
CREATE TABLE login_records (
    subject text NOT NULL,
    member_no bigint,
    in_row bigint NOT NULL,
    total bigint NOT NULL,
    window_start_ms bigint NOT NULL,
    last_ms bigint NOT NULL,
    locked_at_ms bigint NOT NULL
);
CREATE TABLE meetings (
    number bigint NOT NULL,
    start_ms bigint NOT NULL,
    day bigint NOT NULL,
    year bigint NOT NULL,
    ordinal bigint,
    time_zone text NOT NULL,
    discussion text NOT NULL,
    type bigint NOT NULL,
    status bigint NOT NULL,
    location text NOT NULL,
    has_dinner bigint NOT NULL,
    introduced_by text NOT NULL,
    notes text NOT NULL,
    cover_image_url text NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    version bigint NOT NULL,
    sequence bigint NOT NULL,
    reminded_start_ms bigint,
    absences_counted bigint DEFAULT 0 NOT NULL
);
CREATE TABLE member_years (
    member_no bigint NOT NULL,
    year bigint NOT NULL,
    marks bytea NOT NULL
);
CREATE TABLE members (
    number bigint NOT NULL,
    name text NOT NULL,
    name_key text NOT NULL,
    first_name text NOT NULL,
    last_name text NOT NULL,
    email text NOT NULL,
    degree bigint NOT NULL,
    office bigint NOT NULL,
    initiation_day bigint,
    passing_day bigint,
    raising_day bigint,
    is_active bigint NOT NULL,
    role bigint NOT NULL,
    user_id text,
    has_pin bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    version bigint NOT NULL,
    erased_at_ms bigint,
    sequence bigint NOT NULL,
    refused_notices bigint DEFAULT 0 NOT NULL
);
CREATE TABLE notice_buckets (
    user_id text NOT NULL,
    bucket_id text NOT NULL
);
CREATE TABLE notice_jobs (
    meeting_no bigint NOT NULL,
    kind bigint NOT NULL,
    revision bigint NOT NULL,
    due_ms bigint NOT NULL,
    after_member bigint NOT NULL,
    start_ms bigint NOT NULL,
    old_start_ms bigint,
    time_zone text NOT NULL,
    discussion text NOT NULL,
    location text NOT NULL
);
CREATE TABLE pins (
    member_no bigint NOT NULL,
    hash text NOT NULL,
    set_at_ms bigint NOT NULL
);
CREATE TABLE schema_migrations (
    component text NOT NULL,
    "position" bigint NOT NULL,
    identifier text NOT NULL,
    checksum text NOT NULL
);
CREATE TABLE sessions (
    token_hash bytea NOT NULL,
    id text NOT NULL,
    member_no bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    ends_at_ms bigint NOT NULL,
    address text NOT NULL
);
CREATE TABLE store_commits (
    lane bigint NOT NULL,
    session bigint NOT NULL,
    number bigint NOT NULL,
    token bigint NOT NULL,
    is_fenced bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE store_counters (
    name text NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE store_idempotency (
    principal text NOT NULL,
    method text NOT NULL,
    request_id text NOT NULL,
    request_hash bytea NOT NULL,
    reply bytea NOT NULL,
    expires_at_ms bigint NOT NULL
);
CREATE TABLE store_inbox (
    source text NOT NULL,
    message_id text NOT NULL,
    seen_at_ms bigint NOT NULL
);
CREATE TABLE store_lanes (
    lane bigint NOT NULL,
    head bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE store_leases (
    name text NOT NULL,
    owner bigint NOT NULL,
    term bigint NOT NULL,
    until_ms bigint NOT NULL,
    backend bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE store_outbox (
    sequence bigint NOT NULL,
    message_id text NOT NULL,
    topic text NOT NULL,
    message_key text NOT NULL,
    payload bytea NOT NULL,
    created_at_ms bigint NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    next_attempt_at_ms bigint NOT NULL,
    is_dead bigint DEFAULT 0 NOT NULL,
    last_error text,
    trace text
);
CREATE TABLE tombstones (
    sequence bigint NOT NULL,
    meeting_no bigint NOT NULL,
    member_no bigint,
    at_ms bigint NOT NULL
);
INSERT INTO attendance VALUES (1, 1, 1, 2, 'user/root', 1770000000000, 1, 7, NULL);
INSERT INTO attendance VALUES (1, 2, 2, 2, 'user/root', 1770000000000, 2, 9, NULL);
INSERT INTO attendance VALUES (2, 2, 1, 2, 'user/root', 1770000000000, 1, 10, NULL);
INSERT INTO attendance_meta VALUES ('settings', '{"timeZone":"Europe/Rome","excusedPausesStreak":true,"excusedLeavesDenominator":true,"checkInOpensBefore":"7200s","checkInClosesAfter":"14400s","etag":"v1","language":"LODGE_LANGUAGE_ENGLISH","exportRole":"MEMBER_ROLE_SECRETARY","notices":{}}');
INSERT INTO attendance_meta VALUES ('check-in.key', 'cd5a55bd37029eac32bc9da4271d8d398bf182e1a1c351b80876efa295e84183');
INSERT INTO attendance_meta VALUES ('log.epoch', '8b42db7a52ae66fc');
INSERT INTO audit VALUES (1, 1770000000000, 'user/root', '', 'member.create', 'm_1', 0, '\xeb8cdf3f7830841ea0e043bae65c8291', NULL, '{"member":{"id":"m_1","number":"1","name":"Ada Astolfi","degree":"DEGREE_APPRENTICE","office":"OFFICE_NONE","initiationDate":"2020-03-01","active":true,"role":"MEMBER_ROLE_SECRETARY","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1"}}', '\x0b2da265730c328ed30be199feeb87a25056b10a154dc6688eb8d7144b140a6f', '\x77514d4cefb05ac86e5d59301428ed4ea169e95bf232f1409c4423bf9897c9b9');
INSERT INTO audit VALUES (2, 1770000000000, 'user/root', '', 'member.pin', 'm_1', 0, '\xe2fe471c20edf7a3e97e55cf8438df8f', NULL, NULL, '\x0dc290fde2e6f3bf438f9d4cb5a7be18ad592bd30a93bb0c830b7d95f54447cb', '\x850e852871916984e514978a96d83ce40d44ff6d239a30dade6d7144632c48c3');
INSERT INTO audit VALUES (3, 1770000000000, 'user/root', '', 'member.create', 'm_2', 0, '\x4c345a225bf920400eb95b35b8663a0d', NULL, '{"member":{"id":"m_2","number":"2","name":"Bea Baldi","degree":"DEGREE_APPRENTICE","office":"OFFICE_NONE","active":true,"role":"MEMBER_ROLE_MEMBER","userId":"bea","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1"}}', '\x5b336433424619a209a27cd1186dc99d6b3f7da1fac47072fb078e6deabd08e0', '\x14834b27c17782bcaa1581f0750c6528f8a7d6743bef4e6a1dc24a52ed7bdab6');
INSERT INTO audit VALUES (4, 1770000000000, 'user/root', '', 'meeting.create', 't_1', 0, '\xe70492de68c9fa405f111dc29ee60a61', NULL, '{"meeting":{"id":"t_1","number":"1","startTime":"2026-02-01T02:40:00Z","discussion":"The pillars","type":"MEETING_TYPE_ORDINARY","status":"MEETING_STATUS_SCHEDULED","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1","year":2026}}', '\x7b9d17c763f2640266f59c287b06527c99528a2893dda728b6b335be3bcbabb3', '\x8b9d179e4c0782d9abbd100cf712437e8ff14cf2b964f9d2d1df79aa1e90292f');
INSERT INTO audit VALUES (5, 1770000000000, 'user/root', '', 'meeting.create', 't_2', 0, '\x71f5748333b90e96f6d03bed2b99f004', NULL, '{"meeting":{"id":"t_2","number":"2","startTime":"2026-02-22T02:40:00Z","discussion":"Sequoia","type":"MEETING_TYPE_ORDINARY","status":"MEETING_STATUS_SCHEDULED","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1","year":2026}}', '\x6a5f48aab84a33e54509d065d50b6b3ca187b60aaee354bf2aa31e2155c8a1ea', '\x36c7e32c5e89bd95efefe366a3d2224f64a79bea34e0316cabc49bd13e6e8e78');
INSERT INTO audit VALUES (6, 1770000000000, 'user/root', '', 'meeting.create', 't_3', 0, '\x18882d70745309283706676eb2517465', NULL, '{"meeting":{"id":"t_3","number":"3","startTime":"2026-03-04T02:40:00Z","discussion":"The pillars","type":"MEETING_TYPE_ORDINARY","status":"MEETING_STATUS_SCHEDULED","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1","year":2026}}', '\xad59f292215d2e71d3dc8c87b6456f33925f33953928d4a672eaabf2477e4c6a', '\x281ddb8de1ff21ce8ace39e0023f8eed210e7b362eb188d8f4c98cfca1845992');
INSERT INTO audit VALUES (7, 1770000000000, 'user/root', '', 'attendance.record', 't_1/m_1', 0, '\x15c7590d9f07340481da077458b66f5d', NULL, '{"attendances":[{"memberId":"m_1","meetingId":"t_1","status":"ATTENDANCE_STATUS_PRESENT","source":"ATTENDANCE_SOURCE_RECORDED","recordedBy":"user/root","updateTime":"2026-02-02T02:40:00Z","etag":"v1","eventTime":"2026-02-02T02:40:00Z"}]}', '\xd4677b41588b88aa17e4ca71a4b8212acabcbf4abb66da50852f37b7b3f9d123', '\xcec183055c859ad5326fe191ede981ace02276250c6d3a3301c64ce0c94cb2f4');
INSERT INTO audit VALUES (8, 1770000000000, 'user/root', '', 'attendance.record', 't_1/m_2', 0, '\x4c23d90c2e989ef5782d628591fe332e', NULL, '{"attendances":[{"memberId":"m_2","meetingId":"t_1","status":"ATTENDANCE_STATUS_EXCUSED","source":"ATTENDANCE_SOURCE_RECORDED","recordedBy":"user/root","updateTime":"2026-02-02T02:40:00Z","etag":"v1","eventTime":"2026-02-02T02:40:00Z"}]}', '\x6911dbb79b6bd31bb0d16f7c9e5e030009470742bdd9ea61ecd73b996be1d984', '\x26cdb1b1d0b658b59967445a76bd6c35da51cf34234182c6cdb11d68a22f963a');
INSERT INTO audit VALUES (9, 1770000000000, 'user/root', '', 'attendance.record', 't_1/m_2', 0, '\xae1817e8bb9dbc6fc1b513d0ed9893b8', '{"attendances":[{"memberId":"m_2","meetingId":"t_1","status":"ATTENDANCE_STATUS_EXCUSED","source":"ATTENDANCE_SOURCE_RECORDED","recordedBy":"user/root","updateTime":"2026-02-02T02:40:00Z","etag":"v1","eventTime":"2026-02-02T02:40:00Z"}]}', '{"attendances":[{"memberId":"m_2","meetingId":"t_1","status":"ATTENDANCE_STATUS_ABSENT","source":"ATTENDANCE_SOURCE_RECORDED","recordedBy":"user/root","updateTime":"2026-02-02T02:40:00Z","etag":"v2","eventTime":"2026-02-02T02:40:00Z"}]}', '\x222d4dbf5a34f9ce6fd5c67386a38bd1f61462c1f5843562db12c1d4fd2cd293', '\xfa7d8b343f73cbbbb14d1c834c8184b0085110a286d056f2f574bb2ebe9a721f');
INSERT INTO audit VALUES (10, 1770000000000, 'user/root', '', 'attendance.record', 't_2/m_2', 0, '\xadb11c6d12fb1704cbb0f7f80ed33f48', NULL, '{"attendances":[{"memberId":"m_2","meetingId":"t_2","status":"ATTENDANCE_STATUS_PRESENT","source":"ATTENDANCE_SOURCE_RECORDED","recordedBy":"user/root","updateTime":"2026-02-02T02:40:00Z","etag":"v1","eventTime":"2026-02-02T02:40:00Z"}]}', '\x9aaa66b89175ffe0b120b809b1c07c0ba0c272767eb0aa6ae350c8bd85b639ff', '\x7466b8b096a3089d49400b3f8dab524b12af2c670a9727aaac6883926c836015');
INSERT INTO audit VALUES (11, 1770000000000, 'user/root', '', 'meeting.cancel', 't_3', 0, '\x985af0d856e786d7753f543b9cf8df03', '{"meeting":{"id":"t_3","number":"3","startTime":"2026-03-04T02:40:00Z","discussion":"The pillars","type":"MEETING_TYPE_ORDINARY","status":"MEETING_STATUS_SCHEDULED","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v1","year":2026}}', '{"meeting":{"id":"t_3","number":"3","startTime":"2026-03-04T02:40:00Z","discussion":"The pillars","type":"MEETING_TYPE_ORDINARY","status":"MEETING_STATUS_CANCELLED","createTime":"2026-02-02T02:40:00Z","updateTime":"2026-02-02T02:40:00Z","etag":"v2","year":2026}}', '\x6892b1699f456c5acc1d665ad259f603089a4092f51be44d2c4014b7f7d6d328', '\x43afd944e3ab6975a4a2f19a0ce8974d2acbfcc827b8ec4c62d354bf36a6d717');
INSERT INTO counters VALUES ('tombstones', 0);
INSERT INTO counters VALUES ('member', 2);
INSERT INTO counters VALUES ('meeting', 3);
INSERT INTO counters VALUES ('sequence', 11);
INSERT INTO meetings VALUES (1, 1769913600000, 20485, 2026, NULL, '', 'The pillars', 1, 1, '', 0, '', '', '', 1770000000000, 1770000000000, 1, 4, NULL, 0);
INSERT INTO meetings VALUES (2, 1771728000000, 20506, 2026, NULL, '', 'Sequoia', 1, 1, '', 0, '', '', '', 1770000000000, 1770000000000, 1, 5, NULL, 0);
INSERT INTO meetings VALUES (3, 1772592000000, 20516, 2026, NULL, '', 'The pillars', 1, 3, '', 0, '', '', '', 1770000000000, 1770000000000, 2, 11, NULL, 0);
INSERT INTO members VALUES (1, 'Ada Astolfi', 'ada astolfi', '', '', '', 1, 0, 18322, NULL, NULL, 1, 2, NULL, 1, 1770000000000, 1770000000000, 2, NULL, 2, 0);
INSERT INTO members VALUES (2, 'Bea Baldi', 'bea baldi', '', '', '', 1, 0, NULL, NULL, NULL, 1, 1, 'bea', 0, 1770000000000, 1770000000000, 1, NULL, 3, 0);
INSERT INTO pins VALUES (1, '$scrypt$ln=1,r=1,p=1$ckpWDKvUnrq1WKUt3jUVBA$cCeRWUeSxso_hY25jypu41dGiaVGPaTpUoie-2w3qhY', 1770000000000);
INSERT INTO schema_migrations VALUES ('store', 0, 'store-0001-idempotency-outbox-inbox', '5938fc92f93b782044ab0e17b309ab4e1cd075d407dcdd6841264350279fcf3f');
INSERT INTO schema_migrations VALUES ('store', 1, 'store-0002-outbox-trace', '57c720fe780ac66a804f1277853438192275c70d2ea831abfecac605454fc8f5');
INSERT INTO schema_migrations VALUES ('service', 0, '0001-members-meetings-attendance', 'e6b2ebf2fcbcc00bada6b94b0a40d08c203174ebfe52d09412c28a5a5bf48393');
INSERT INTO schema_migrations VALUES ('service', 1, '0002-login-records-devices', '8938ffcb135a19c1db66730022c59d3a694e9bfbfc5983d07db59c590da5c670');
INSERT INTO schema_migrations VALUES ('service', 2, '0003-durations-in-settings', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
INSERT INTO schema_migrations VALUES ('service', 3, '0004-event-times-notices', '343e778c0a150dc4196110bec29e97fd6fbb361a5bf4b0cf56670bb34d84edde');
INSERT INTO schema_migrations VALUES ('service', 4, '0005-login-attempts', 'f513fc4bbacf11cbbcf39b7e40c1544b0a3bdc541ed3650d9bef876c467f24eb');
INSERT INTO store_commits VALUES (0, 1205970120816821910, 20, 20, 0);
INSERT INTO store_counters VALUES ('outbox.sequence', 0);
INSERT INTO store_counters VALUES ('outbox.pending', 0);
INSERT INTO store_lanes VALUES (0, 20);
ALTER TABLE ONLY attendance_meta
    ADD CONSTRAINT attendance_meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY attendance
    ADD CONSTRAINT attendance_pkey PRIMARY KEY (meeting_no, member_no);
ALTER TABLE ONLY audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY calendar_feeds
    ADD CONSTRAINT calendar_feeds_pkey PRIMARY KEY (id);
ALTER TABLE ONLY check_ins
    ADD CONSTRAINT check_ins_pkey PRIMARY KEY (meeting_no, member_no, step);
ALTER TABLE ONLY counters
    ADD CONSTRAINT counters_pkey PRIMARY KEY (name);
ALTER TABLE ONLY login_attempts
    ADD CONSTRAINT login_attempts_pkey PRIMARY KEY (subject, origin);
ALTER TABLE ONLY login_devices
    ADD CONSTRAINT login_devices_pkey PRIMARY KEY (token_hash);
ALTER TABLE ONLY login_records
    ADD CONSTRAINT login_records_pkey PRIMARY KEY (subject);
ALTER TABLE ONLY meetings
    ADD CONSTRAINT meetings_pkey PRIMARY KEY (number);
ALTER TABLE ONLY member_years
    ADD CONSTRAINT member_years_pkey PRIMARY KEY (member_no, year);
ALTER TABLE ONLY members
    ADD CONSTRAINT members_pkey PRIMARY KEY (number);
ALTER TABLE ONLY notice_buckets
    ADD CONSTRAINT notice_buckets_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY notice_jobs
    ADD CONSTRAINT notice_jobs_pkey PRIMARY KEY (meeting_no, kind);
ALTER TABLE ONLY pins
    ADD CONSTRAINT pins_pkey PRIMARY KEY (member_no);
ALTER TABLE ONLY schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (component, "position");
ALTER TABLE ONLY sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (token_hash);
ALTER TABLE ONLY store_commits
    ADD CONSTRAINT store_commits_pkey PRIMARY KEY (lane, session);
ALTER TABLE ONLY store_counters
    ADD CONSTRAINT store_counters_pkey PRIMARY KEY (name);
ALTER TABLE ONLY store_idempotency
    ADD CONSTRAINT store_idempotency_pkey PRIMARY KEY (principal, method, request_id);
ALTER TABLE ONLY store_inbox
    ADD CONSTRAINT store_inbox_pkey PRIMARY KEY (source, message_id);
ALTER TABLE ONLY store_lanes
    ADD CONSTRAINT store_lanes_pkey PRIMARY KEY (lane);
ALTER TABLE ONLY store_leases
    ADD CONSTRAINT store_leases_pkey PRIMARY KEY (name);
ALTER TABLE ONLY store_outbox
    ADD CONSTRAINT store_outbox_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY tombstones
    ADD CONSTRAINT tombstones_pkey PRIMARY KEY (sequence);
CREATE INDEX attendance_sequence ON attendance USING btree (sequence);
CREATE INDEX audit_subject ON audit USING btree (subject, sequence);
CREATE INDEX calendar_feeds_owner ON calendar_feeds USING btree (owner, id);
CREATE UNIQUE INDEX calendar_feeds_secret ON calendar_feeds USING btree (secret_hash);
CREATE INDEX check_ins_step ON check_ins USING btree (step);
CREATE INDEX login_attempts_end ON login_attempts USING btree (end_ms);
CREATE INDEX login_attempts_last ON login_attempts USING btree (last_ms);
CREATE INDEX login_devices_last ON login_devices USING btree (last_login_ms);
CREATE INDEX login_devices_member ON login_devices USING btree (member_no, last_login_ms);
CREATE INDEX login_records_locked ON login_records USING btree (member_no) WHERE ((locked_at_ms > 0) AND (member_no IS NOT NULL));
CREATE INDEX login_records_unknown ON login_records USING btree (locked_at_ms, last_ms) WHERE (member_no IS NULL);
CREATE INDEX meetings_ordinal ON meetings USING btree (year, ordinal) WHERE (ordinal IS NOT NULL);
CREATE INDEX meetings_sequence ON meetings USING btree (sequence);
CREATE INDEX meetings_start ON meetings USING btree (start_ms, number);
CREATE INDEX meetings_status ON meetings USING btree (status, start_ms, number);
CREATE INDEX meetings_year ON meetings USING btree (year, start_ms, number);
CREATE INDEX meetings_year_status ON meetings USING btree (year, status, start_ms, number);
CREATE INDEX members_active ON members USING btree (name_key) WHERE (is_active = 1);
CREATE UNIQUE INDEX members_name ON members USING btree (name_key);
CREATE INDEX members_sequence ON members USING btree (sequence);
CREATE UNIQUE INDEX members_user ON members USING btree (user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX notice_jobs_due ON notice_jobs USING btree (due_ms, meeting_no, kind);
CREATE INDEX sessions_expiry ON sessions USING btree (expires_at_ms);
CREATE INDEX sessions_member ON sessions USING btree (member_no, id);
CREATE INDEX store_idempotency_expiry ON store_idempotency USING btree (expires_at_ms);
CREATE INDEX store_inbox_age ON store_inbox USING btree (seen_at_ms);
CREATE INDEX store_outbox_key ON store_outbox USING btree (topic, message_key, is_dead, sequence);
CREATE INDEX store_outbox_order ON store_outbox USING btree (is_dead, sequence);
CREATE INDEX store_outbox_waiting ON store_outbox USING btree (is_dead, next_attempt_at_ms);
