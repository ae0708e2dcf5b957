CREATE TABLE assets (
    zone_no bigint NOT NULL,
    name text NOT NULL,
    version bigint NOT NULL
);
CREATE TABLE awake_devices (
    user_id text NOT NULL,
    device_id text NOT NULL,
    process text NOT NULL
);
CREATE TABLE content_chunks (
    name text NOT NULL,
    number bigint NOT NULL,
    at_ms bigint NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY content_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE content_journal (
    sequence bigint NOT NULL,
    sha256 bytea NOT NULL,
    size_bytes bigint NOT NULL,
    file bytea NOT NULL
);
CREATE TABLE contents (
    sha256 bytea NOT NULL,
    size_bytes bigint NOT NULL,
    stored_bytes bigint NOT NULL,
    ref_count bigint NOT NULL,
    unreferenced_at_ms bigint,
    CONSTRAINT contents_ref_count_check CHECK ((ref_count >= 0))
);
CREATE TABLE counters (
    name text NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE deleted_zones (
    zone_no bigint NOT NULL
);
CREATE TABLE devices (
    user_id text NOT NULL,
    device_id text NOT NULL,
    role bigint NOT NULL,
    display_name text NOT NULL,
    created_at_ms bigint NOT NULL,
    acknowledged bigint NOT NULL,
    wakes_for_updates bigint DEFAULT 0 NOT NULL,
    app text DEFAULT ''::text NOT NULL,
    installation_id text DEFAULT ''::text NOT NULL,
    wakes_spent_ms bigint DEFAULT 0 NOT NULL,
    woken_at_ms bigint
);
CREATE TABLE export_queue (
    user_id text NOT NULL,
    generation bigint NOT NULL,
    due_ms bigint NOT NULL,
    attempts bigint NOT NULL
);
CREATE TABLE messages (
    user_id text NOT NULL,
    sequence bigint NOT NULL,
    device_id text NOT NULL,
    mutation_id text NOT NULL,
    payload bytea NOT NULL,
    at_ms bigint NOT NULL
);
CREATE TABLE schema_migrations (
    component text NOT NULL,
    "position" bigint NOT NULL,
    identifier text NOT NULL,
    checksum text NOT NULL
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
CREATE TABLE subscriptions (
    user_id text NOT NULL,
    zone text NOT NULL,
    device_id text NOT NULL,
    record_type text NOT NULL,
    name text NOT NULL
);
CREATE TABLE sync_meta (
    name text NOT NULL,
    value text NOT NULL
);
CREATE TABLE uploads (
    user_id text NOT NULL,
    id text NOT NULL,
    zone text NOT NULL,
    record_type text NOT NULL,
    size_bytes bigint NOT NULL,
    sha256 bytea NOT NULL,
    is_strict bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    facts_json text,
    writer_epoch bigint DEFAULT 0 NOT NULL
);
CREATE TABLE users (
    user_id text NOT NULL,
    zone_count bigint NOT NULL,
    device_count bigint NOT NULL,
    upload_count bigint NOT NULL,
    used_bytes bigint NOT NULL,
    revision_floor bigint NOT NULL,
    message_sequence bigint NOT NULL,
    dropped_through bigint NOT NULL,
    CONSTRAINT users_device_count_check CHECK ((device_count >= 0)),
    CONSTRAINT users_upload_count_check CHECK ((upload_count >= 0)),
    CONSTRAINT users_used_bytes_check CHECK ((used_bytes >= 0)),
    CONSTRAINT users_zone_count_check CHECK ((zone_count >= 0))
);
CREATE TABLE versions (
    zone_no bigint NOT NULL,
    name text NOT NULL,
    version bigint NOT NULL,
    number bigint NOT NULL,
    record_type text NOT NULL,
    sync_timestamp_ms bigint NOT NULL,
    record_count bigint NOT NULL,
    size_bytes bigint NOT NULL,
    sha256 bytea,
    device_id text NOT NULL,
    at_ms bigint NOT NULL,
    is_deleted bigint NOT NULL,
    is_conflict bigint NOT NULL,
    replaced_at_ms bigint
);
CREATE TABLE wakes (
    user_id text NOT NULL,
    device_id text NOT NULL,
    zones text NOT NULL,
    generation bigint NOT NULL,
    made_ms bigint NOT NULL,
    due_ms bigint NOT NULL,
    attempts bigint NOT NULL
);
CREATE TABLE zones (
    user_id text NOT NULL,
    name text NOT NULL,
    zone_no bigint NOT NULL,
    revision bigint NOT NULL,
    asset_count bigint NOT NULL,
    used_bytes bigint NOT NULL,
    compacted_through bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    is_export_ended bigint DEFAULT 0 NOT NULL,
    CONSTRAINT zones_asset_count_check CHECK ((asset_count >= 0)),
    CONSTRAINT zones_used_bytes_check CHECK ((used_bytes >= 0))
);
INSERT INTO assets VALUES (1, 'notes-a', 3);
INSERT INTO assets VALUES (2, 'b', 1);
INSERT INTO assets VALUES (3, 'own', 1);
INSERT INTO content_chunks VALUES ('015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862', 0, 1770000000000, '\x434d5053594e43310000000700000007a8d7323fdaeaa252dfc80218fdbd215d2645f4162376baae594540f64029cbdd7b2261223a317d0000000000000000015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862');
INSERT INTO content_chunks VALUES ('7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c', 0, 1770000000000, '\x434d5053594e43310000000700000007772b9767f88d257d4f7ae0c4d3641087cad08e2c7a934169151ad477382d70d47b2261223a327d00000000000000007e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c');
INSERT INTO content_chunks VALUES ('70778ce01ad8d1a82c80a3500bee476f34651238edeb936c4a7b0161b1395169', 0, 1770000000000, '\x434d5053594e43310000000700000007c3bf4e0b518536cc1a89729522472c5d3649ea091c7a192458228b5b0e0632a77b2261223a337d000000000000000070778ce01ad8d1a82c80a3500bee476f34651238edeb936c4a7b0161b1395169');
INSERT INTO content_chunks VALUES ('4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945', 0, 1770000000000, '\x434d5053594e43310000000200000002bb70ec8253c88d2cfaa75d1be5367c1a54bc229674cfdaff8595abddf64d59f55b5d00000000000000004f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945');
INSERT INTO content_chunks VALUES ('49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684', 0, 1770000000000, '\x434d5053594e433100000005000000053f8703a9b67ae53c32f923fa0a5b6c24146ff81f02e0a46864e8120ded335ab05b312c325d000000000000000049a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684');
INSERT INTO content_chunks VALUES ('06d033ece6645de592db973644cf7357255f24536ff7b03c3b2ace10736f7636', 0, 1770000000000, '\x434d5053594e433100000003000000038b57c93de618076e2751acd25fee7f1c3a64ec5f27fe34274e6c79e72ad002375b335d000000000000000006d033ece6645de592db973644cf7357255f24536ff7b03c3b2ace10736f7636');
INSERT INTO contents VALUES ('\x015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862', 7, 95, 1, NULL);
INSERT INTO contents VALUES ('\x7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c', 7, 95, 1, NULL);
INSERT INTO contents VALUES ('\x70778ce01ad8d1a82c80a3500bee476f34651238edeb936c4a7b0161b1395169', 7, 95, 1, NULL);
INSERT INTO contents VALUES ('\x4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945', 2, 90, 1, NULL);
INSERT INTO contents VALUES ('\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684', 5, 93, 1, NULL);
INSERT INTO contents VALUES ('\x06d033ece6645de592db973644cf7357255f24536ff7b03c3b2ace10736f7636', 3, 91, 1, NULL);
INSERT INTO counters VALUES ('generation', 0);
INSERT INTO counters VALUES ('journal', 0);
INSERT INTO counters VALUES ('uploads', 1);
INSERT INTO counters VALUES ('zone', 3);
INSERT INTO counters VALUES ('stored', 559);
INSERT INTO devices VALUES ('anna', 'phone', 2, '', 1770000000000, 0, 0, '', 'phone', 0, NULL);
INSERT INTO devices VALUES ('anna', 'watch', 1, '', 1770000000000, 0, 0, '', 'watch', 0, NULL);
INSERT INTO devices VALUES ('anna', 'tablet', 2, '', 1770000000000, 0, 0, '', 'tablet', 0, NULL);
INSERT INTO devices VALUES ('bruno', 'phone', 2, '', 1770000000000, 0, 0, '', 'phone', 0, NULL);
INSERT INTO messages VALUES ('anna', 1, 'watch', 'r_1', '\x7b2274797065223a2253594e435f5550444154455f545950455f4e4f54494649434154494f4e5f52454144222c22656e746974794964223a226e5f31222c226576656e7454696d65223a22323032362d30322d30325430323a34303a30305a227d', 1770000000000);
INSERT INTO schema_migrations VALUES ('store', 0, 'store-0001-idempotency-outbox-inbox', '5938fc92f93b782044ab0e17b309ab4e1cd075d407dcdd6841264350279fcf3f');
INSERT INTO schema_migrations VALUES ('store', 1, 'store-0002-outbox-trace', '57c720fe780ac66a804f1277853438192275c70d2ea831abfecac605454fc8f5');
INSERT INTO schema_migrations VALUES ('service', 0, '0001-zones-assets-devices', '6cbb3cd56627ba106192f8f84e7909ee6ddcc9081ec4df73e895965030ea70ec');
INSERT INTO schema_migrations VALUES ('service', 1, '0002-content-journal', '13f7047e5396e1fdb7a021d2c422f02031f998a5ca1ea28bd84a012c5baf1902');
INSERT INTO schema_migrations VALUES ('service', 2, '0003-time-fields', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
INSERT INTO schema_migrations VALUES ('service', 3, '0004-ended-exports-and-wakes', '3ae6d7ac3f0cf420efe1f5764961a29a353b985dcf5888deb3a9b9cef9a15e70');
INSERT INTO schema_migrations VALUES ('service', 4, '0005-content-chunks', 'a12c8646843355ee02d2941b8a57ec0cc18cbf7c3b3d5a690efd673c17e8fba8');
INSERT INTO schema_migrations VALUES ('service', 5, '0006-upload-writers', 'b21f8931de78c44d02b95bc5fedbaa8569bd22e4ecae35fd71296b0b67be576f');
INSERT INTO schema_migrations VALUES ('service', 6, '0007-awake-devices', '5718756b48482643c78bbcaaae78501170eb3e8723c07e9de60b219b58e7cfb0');
INSERT INTO store_commits VALUES (0, 7389865975969519214, 25, 25, 0);
INSERT INTO store_counters VALUES ('outbox.sequence', 0);
INSERT INTO store_counters VALUES ('outbox.pending', 0);
INSERT INTO store_idempotency VALUES ('anna', 'campanile.sync.v1.DevicesService/PublishUpdate', 'watch/r_1', '\xce8b2d08d85a18b9a8b3e64676bc6fb9c7d959c5ba0c16b4bc5dc82120cdefea', '\x7b2273657175656e6365223a2231227d', 1770086400000);
INSERT INTO store_lanes VALUES (0, 25);
INSERT INTO sync_meta VALUES ('log.epoch', '491fdb8eb9d52ad5');
INSERT INTO uploads VALUES ('anna', 'u_01kge3h9001ecfhdh6jcj9', 'ZentikSyncZone', 'Note', 3, '\x16390873ae6b6a173fc894a873bab02283debbd320b5f0758849d01afa6ee8b6', 0, 1770003600000, NULL, 0);
INSERT INTO users VALUES ('anna', 2, 3, 1, 28, 0, 1, 0);
INSERT INTO users VALUES ('bruno', 1, 1, 0, 3, 0, 0, 0);
INSERT INTO versions VALUES (1, 'notes-a', 1, 1, 'Note', 1770000000000, 0, 7, '\x015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862', 'phone', 1770000000000, 0, 0, 1770000000000);
INSERT INTO versions VALUES (1, 'notes-a', 2, 2, 'Note', 1770000000000, 0, 7, '\x7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c', 'phone', 1770000000000, 0, 1, 1770000000000);
INSERT INTO versions VALUES (1, 'notes-a', 3, 3, 'Note', 1770000000000, 0, 7, '\x70778ce01ad8d1a82c80a3500bee476f34651238edeb936c4a7b0161b1395169', 'tablet', 1770000000000, 0, 0, NULL);
INSERT INTO versions VALUES (1, 'notes-gone', 4, 1, 'Note', 1770000000000, 0, 2, '\x4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945', 'phone', 1770000000000, 0, 0, 1770000000000);
INSERT INTO versions VALUES (1, 'notes-gone', 5, 2, 'Note', 1770000000000, 0, 0, NULL, 'phone', 1770000000000, 1, 0, 1770000000000);
INSERT INTO versions VALUES (2, 'b', 1, 1, 'Note', 1770000000000, 0, 5, '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684', 'phone', 1770000000000, 0, 0, NULL);
INSERT INTO versions VALUES (3, 'own', 1, 1, 'Note', 1770000000000, 0, 3, '\x06d033ece6645de592db973644cf7357255f24536ff7b03c3b2ace10736f7636', 'phone', 1770000000000, 0, 0, NULL);
INSERT INTO zones VALUES ('anna', 'ZentikSyncZone', 1, 5, 1, 23, 0, 1770000000000, 1770000000000, 0);
INSERT INTO zones VALUES ('anna', 'second', 2, 1, 1, 5, 0, 1770000000000, 1770000000000, 0);
INSERT INTO zones VALUES ('bruno', 'ZentikSyncZone', 3, 1, 1, 3, 0, 1770000000000, 1770000000000, 0);
ALTER TABLE ONLY assets
    ADD CONSTRAINT assets_pkey PRIMARY KEY (zone_no, name);
ALTER TABLE ONLY awake_devices
    ADD CONSTRAINT awake_devices_pkey PRIMARY KEY (user_id, device_id, process);
ALTER TABLE ONLY content_chunks
    ADD CONSTRAINT content_chunks_pkey PRIMARY KEY (name, number);
ALTER TABLE ONLY content_journal
    ADD CONSTRAINT content_journal_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY contents
    ADD CONSTRAINT contents_pkey PRIMARY KEY (sha256);
ALTER TABLE ONLY counters
    ADD CONSTRAINT counters_pkey PRIMARY KEY (name);
ALTER TABLE ONLY deleted_zones
    ADD CONSTRAINT deleted_zones_pkey PRIMARY KEY (zone_no);
ALTER TABLE ONLY devices
    ADD CONSTRAINT devices_pkey PRIMARY KEY (user_id, device_id);
ALTER TABLE ONLY export_queue
    ADD CONSTRAINT export_queue_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (user_id, sequence);
ALTER TABLE ONLY schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (component, "position");
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
ALTER TABLE ONLY subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (user_id, zone, device_id, record_type, name);
ALTER TABLE ONLY sync_meta
    ADD CONSTRAINT sync_meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY uploads
    ADD CONSTRAINT uploads_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY users
    ADD CONSTRAINT users_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY versions
    ADD CONSTRAINT versions_pkey PRIMARY KEY (zone_no, name, version);
ALTER TABLE ONLY wakes
    ADD CONSTRAINT wakes_pkey PRIMARY KEY (user_id, device_id);
ALTER TABLE ONLY zones
    ADD CONSTRAINT zones_pkey PRIMARY KEY (user_id, name);
CREATE INDEX content_chunks_unfinished ON content_chunks USING btree (at_ms) WHERE ((number = 0) AND (name ~~ '%\_%'::text));
CREATE INDEX contents_unreferenced ON contents USING btree (unreferenced_at_ms) WHERE (unreferenced_at_ms IS NOT NULL);
CREATE INDEX export_queue_due ON export_queue USING btree (due_ms, user_id);
CREATE UNIQUE INDEX messages_mutation ON messages USING btree (user_id, device_id, mutation_id);
CREATE INDEX messages_time ON messages USING btree (at_ms, user_id, sequence);
CREATE INDEX store_idempotency_expiry ON store_idempotency USING btree (expires_at_ms);
CREATE INDEX store_inbox_age ON store_inbox USING btree (seen_at_ms);
CREATE INDEX store_outbox_key ON store_outbox USING btree (topic, message_key, is_dead, sequence);
CREATE INDEX store_outbox_order ON store_outbox USING btree (is_dead, sequence);
CREATE INDEX store_outbox_waiting ON store_outbox USING btree (is_dead, next_attempt_at_ms);
CREATE INDEX subscriptions_device ON subscriptions USING btree (user_id, device_id);
CREATE INDEX uploads_expiry ON uploads USING btree (expires_at_ms);
CREATE UNIQUE INDEX uploads_id ON uploads USING btree (id);
CREATE INDEX users_used ON users USING btree (used_bytes);
CREATE INDEX versions_conflict ON versions USING btree (zone_no, name, version) WHERE (is_conflict = 1);
CREATE INDEX versions_content ON versions USING btree (zone_no, sha256) WHERE (sha256 IS NOT NULL);
CREATE INDEX versions_history ON versions USING btree (zone_no, replaced_at_ms) WHERE ((replaced_at_ms IS NOT NULL) AND (is_conflict = 0));
CREATE UNIQUE INDEX versions_number ON versions USING btree (zone_no, name, number);
CREATE INDEX versions_replaced ON versions USING btree (replaced_at_ms) WHERE (replaced_at_ms IS NOT NULL);
CREATE INDEX versions_revision ON versions USING btree (zone_no, version, name);
CREATE INDEX wakes_due ON wakes USING btree (due_ms, user_id, device_id);
CREATE UNIQUE INDEX zones_number ON zones USING btree (zone_no);
CREATE INDEX zones_used ON zones USING btree (used_bytes);
