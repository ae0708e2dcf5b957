CREATE TABLE activities (
    user_id text NOT NULL,
    id text NOT NULL,
    app text NOT NULL,
    environment text NOT NULL,
    status bigint NOT NULL,
    origin bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    start_ms bigint NOT NULL,
    expire_ms bigint NOT NULL,
    scheduled_end_ms bigint,
    ended_at_ms bigint,
    end_reason bigint NOT NULL,
    stale_ms bigint,
    relevance_score double precision,
    aps_timestamp bigint NOT NULL,
    renews bigint NOT NULL,
    generation bigint NOT NULL,
    channel_id text NOT NULL,
    token_ids text NOT NULL,
    version bigint NOT NULL,
    driver_kind bigint NOT NULL,
    driver_subject text NOT NULL,
    driver_json text,
    content_state text NOT NULL,
    group_id text DEFAULT ''::text NOT NULL,
    pushes_stopped bigint DEFAULT 0 NOT NULL
);
CREATE TABLE activities_meta (
    name text NOT NULL,
    value text NOT NULL
);
CREATE TABLE activity_starts (
    user_id text NOT NULL,
    id text NOT NULL,
    attributes_type text NOT NULL,
    attributes text,
    alert_json text,
    installation_id text NOT NULL
);
CREATE TABLE alert_reports (
    apns_id text NOT NULL,
    user_id text NOT NULL,
    notification_id text NOT NULL,
    token_id text NOT NULL,
    queued_at_ms bigint NOT NULL,
    settled_at_ms bigint,
    outcome bigint,
    reason text
);
CREATE TABLE change_cursors (
    feed text NOT NULL,
    sequence bigint NOT NULL
);
CREATE TABLE changes (
    sequence bigint NOT NULL,
    user_id text NOT NULL,
    kind bigint NOT NULL,
    activity_id text NOT NULL,
    at_ms bigint NOT NULL
);
CREATE TABLE dead_letters (
    apns_id text NOT NULL,
    lane text NOT NULL,
    route_id bigint NOT NULL,
    kind bigint NOT NULL,
    user_id text NOT NULL,
    activity_id text,
    target_kind bigint NOT NULL,
    target_id text NOT NULL,
    push_type text NOT NULL,
    priority bigint NOT NULL,
    payload bytea NOT NULL,
    expiration_ms bigint,
    collapse_id text,
    trace_parent text,
    queued_at_ms bigint NOT NULL,
    attempts bigint NOT NULL,
    failed_at_ms bigint NOT NULL,
    status bigint NOT NULL,
    reason text NOT NULL
);
CREATE TABLE delivery_meta (
    name text NOT NULL,
    value text NOT NULL
);
CREATE TABLE provider_tokens (
    team_id text NOT NULL,
    key_id text NOT NULL,
    token text NOT NULL,
    issued_at_ms bigint NOT NULL
);
CREATE TABLE push_budgets (
    lane text NOT NULL,
    level_thousandths bigint NOT NULL,
    updated_at_ms bigint NOT NULL
);
CREATE TABLE push_channels (
    app text NOT NULL,
    environment text NOT NULL,
    channel_id text NOT NULL,
    storage_policy bigint NOT NULL,
    created_at_ms bigint NOT NULL
);
CREATE TABLE push_ends (
    sequence bigint NOT NULL,
    apns_id text NOT NULL
);
CREATE TABLE push_ledger (
    apns_id text NOT NULL,
    route_id bigint NOT NULL,
    user_id text NOT NULL,
    activity_id text,
    kind bigint NOT NULL,
    push_type text NOT NULL,
    priority bigint NOT NULL,
    outcome bigint NOT NULL,
    status bigint NOT NULL,
    reason text NOT NULL,
    attempts bigint NOT NULL,
    queued_at_ms bigint NOT NULL,
    settled_at_ms bigint NOT NULL,
    latency_ms bigint NOT NULL,
    trace_parent text,
    target_id text
);
CREATE TABLE push_routes (
    id bigint NOT NULL,
    app text NOT NULL,
    environment text NOT NULL
);
CREATE TABLE push_statistics (
    app text NOT NULL,
    hour_ms bigint NOT NULL,
    measure text NOT NULL,
    count bigint NOT NULL
);
CREATE TABLE push_tokens (
    token_id text NOT NULL,
    user_id text NOT NULL,
    kind bigint NOT NULL,
    app text NOT NULL,
    environment text NOT NULL,
    installation_id text NOT NULL,
    subject text NOT NULL,
    generation bigint NOT NULL,
    token bytea NOT NULL,
    token_time_ms bigint NOT NULL,
    registered_at_ms bigint NOT NULL,
    used_at_ms bigint NOT NULL,
    state bigint NOT NULL,
    retired_at_ms bigint,
    retire_reason text,
    os_version bigint,
    frequent_pushes bigint
);
CREATE TABLE pushes (
    lane text NOT NULL,
    apns_id text NOT NULL,
    state bigint NOT NULL,
    route_id bigint NOT NULL,
    kind bigint NOT NULL,
    user_id text NOT NULL,
    activity_id text,
    target_kind bigint NOT NULL,
    target_id text NOT NULL,
    push_type text NOT NULL,
    priority bigint NOT NULL,
    payload bytea NOT NULL,
    expiration_ms bigint,
    collapse_id text,
    trace_parent text,
    due_ms bigint NOT NULL,
    queued_at_ms bigint NOT NULL,
    attempts bigint NOT NULL,
    is_renewed bigint NOT NULL,
    last_reason text
);
CREATE TABLE revoked_keys (
    team_id text NOT NULL,
    key_id text NOT NULL,
    revoked_at_ms bigint NOT NULL
);
CREATE TABLE scheduled_ends (
    user_id text NOT NULL,
    id text NOT NULL,
    request_json text NOT NULL
);
CREATE TABLE schema_migrations (
    component text NOT NULL,
    "position" bigint NOT NULL,
    identifier text NOT NULL,
    checksum text NOT NULL
);
CREATE TABLE signing_keys (
    team_id text NOT NULL,
    key_id text NOT NULL,
    description text NOT NULL,
    private_key text NOT NULL
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
CREATE TABLE timers (
    user_id text NOT NULL,
    subject_id text NOT NULL,
    kind bigint NOT NULL,
    due_ms bigint NOT NULL
);
CREATE TABLE unread_summaries (
    user_id text NOT NULL,
    sequence bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    payload bytea NOT NULL
);
CREATE TABLE users (
    user_id text NOT NULL,
    activity_count bigint NOT NULL,
    token_count bigint NOT NULL,
    compacted_through bigint NOT NULL,
    CONSTRAINT users_activity_count_check CHECK ((activity_count >= 0)),
    CONSTRAINT users_token_count_check CHECK ((token_count >= 0))
);
INSERT INTO activities VALUES ('anna', 'remote', 'com.example.growth', 'development', 2, 2, 1770000000000, 1770000000000, 1770000000000, 1770028800000, NULL, NULL, 0, NULL, NULL, 1770000000, 0, 0, '', '', 1, 0, '', NULL, '{"n":0}', '', 0);
INSERT INTO activities VALUES ('anna', 'local', 'com.example.growth', 'development', 3, 1, 1770000000000, 1770000002000, 1770000000000, 1770028800000, NULL, NULL, 0, NULL, NULL, 1770000002, 0, 0, '', 'p_01kge3h900a8cvhqs1vhdz', 2, 0, '', NULL, '{"n":1}', '', 0);
INSERT INTO activities VALUES ('anna', 'ended', 'com.example.growth', 'development', 4, 1, 1770000002000, 1770000002000, 1770000002000, 1770028802000, NULL, 1770000002000, 1, NULL, NULL, 1770000003, 0, 0, '', '', 2, 0, '', NULL, '{"n":0}', '', 0);
INSERT INTO activities VALUES ('bruno', 'timer', 'com.example.growth', 'development', 3, 1, 1770000002000, 1770000002000, 1770000002000, 1770028802000, NULL, NULL, 0, 1770028802000, 100, 1770000002, 0, 0, '', '', 1, 1, '', '{"startTime":"2026-02-02T02:40:02Z","totalPaused":"0s","duration":"60s","methodName":"Run","sessionType":"TIMER_SESSION_TYPE_COUNTDOWN","ranksByItself":true}', '{"startedAt":791692802,"isPaused":false,"duration":60,"methodName":"Run","protocolName":"Run","sessionType":"countdown","totalPausedDuration":0,"spokenText":"Run, countdown of 1 minute, running"}', '', 0);
INSERT INTO activities_meta VALUES ('log.epoch', 'fe2092d681379ce2');
INSERT INTO activity_starts VALUES ('anna', 'remote', 'TimerActivityAttributes', '{"methodId":"m1"}', '{"title":"Title","body":"Body"}', '');
INSERT INTO changes VALUES (1, 'anna', 1, 'remote', 1770000000000);
INSERT INTO changes VALUES (2, 'anna', 1, 'local', 1770000000000);
INSERT INTO changes VALUES (3, 'anna', 2, 'local', 1770000000000);
INSERT INTO changes VALUES (4, 'anna', 2, 'local', 1770000002000);
INSERT INTO changes VALUES (5, 'anna', 1, 'ended', 1770000002000);
INSERT INTO changes VALUES (6, 'anna', 3, 'ended', 1770000002000);
INSERT INTO changes VALUES (7, 'bruno', 1, 'timer', 1770000002000);
INSERT INTO delivery_meta VALUES ('log.epoch', '5007d23c3d8f3562');
INSERT INTO push_routes VALUES (1, 'com.example.growth', 'development');
INSERT INTO push_tokens VALUES ('p_01kge3h900a8cvhqrzc1ks', 'anna', 1, 'com.example.growth', 'development', 'phone', '', 0, '\x0000000000000000000000000000000000000000000000000000000000000001', 1770000000000, 1770000000000, 1770000000000, 1, NULL, NULL, NULL, NULL);
INSERT INTO push_tokens VALUES ('p_01kge3h900a8cvhqs05gtb', 'anna', 3, 'com.example.growth', 'development', 'phone', '', 0, '\x0000000000000000000000000000000000000000000000000000000000000002', 1770000000000, 1770000000000, 1770000000000, 1, NULL, NULL, NULL, NULL);
INSERT INTO push_tokens VALUES ('p_01kge3h900a8cvhqs1vhdz', 'anna', 2, 'com.example.growth', 'development', 'phone', 'local', 0, '\x0000000000000000000000000000000000000000000000000000000000000003', 1770000000000, 1770000000000, 1770000000000, 1, NULL, NULL, NULL, NULL);
INSERT INTO pushes VALUES ('t:p_01kge3h900a8cvhqs05gtb', '019c1c38-a400-7023-81fa-0a3ff3a14000', 0, 1, 1, 'anna', 'remote', 1, 'p_01kge3h900a8cvhqs05gtb', 'liveactivity', 10, '\x7b22617073223a7b2274696d657374616d70223a313737303030303030302c226576656e74223a227374617274222c22636f6e74656e742d7374617465223a7b226e223a307d2c22617474726962757465732d74797065223a2254696d6572416374697669747941747472696275746573222c2261747472696275746573223a7b226d6574686f644964223a226d31227d2c22696e7075742d707573682d746f6b656e223a312c22616c657274223a7b227469746c65223a225469746c65222c22626f6479223a22426f6479227d7d7d', 1770003600000, NULL, NULL, 1770000000000, 1770000000000, 0, 0, NULL);
INSERT INTO pushes VALUES ('a:p_01kge3h900a8cvhqs1vhdz', '019c1c38-abd0-7287-b13b-934fae472000', 0, 1, 2, 'anna', 'local', 1, 'p_01kge3h900a8cvhqs1vhdz', 'liveactivity', 0, '\x7b22617073223a7b2274696d657374616d70223a313737303030303030322c226576656e74223a22757064617465222c22636f6e74656e742d7374617465223a7b226e223a317d7d7d', 0, NULL, NULL, 1770000002000, 1770000002000, 0, 0, NULL);
INSERT INTO schema_migrations VALUES ('store', 0, 'store-0001-idempotency-outbox-inbox', '5938fc92f93b782044ab0e17b309ab4e1cd075d407dcdd6841264350279fcf3f');
INSERT INTO schema_migrations VALUES ('store', 1, 'store-0002-outbox-trace', '57c720fe780ac66a804f1277853438192275c70d2ea831abfecac605454fc8f5');
INSERT INTO schema_migrations VALUES ('service', 0, '0001-activities-tokens-changes', 'b05d7026b38fe08e8464a73baec6ac126234b94f2872483e80ffdc496d77dda6');
INSERT INTO schema_migrations VALUES ('service', 1, '0100-delivery', 'c22d4c09efc9f3d86b1412aa6f9543a1cdda4c6f81a18873dec2ea032221c9f3');
INSERT INTO schema_migrations VALUES ('service', 2, '0101-alert-reports', '4cad6d869b8ffed6f096925d1dbb4d75c4adf8fcb000ec6ea7bacd75177e4d89');
INSERT INTO schema_migrations VALUES ('service', 3, '0102-contract', '6ae30abc06369f205b425a9f445395f334272e182a355b8d07738b73eac4c330');
INSERT INTO schema_migrations VALUES ('service', 4, '0103-groups', '8b17db3fd05101c80644cea13e7aebcdd9da601fa4a0ddab2f85f60a36f8b00c');
INSERT INTO schema_migrations VALUES ('service', 5, '0104-push-filters', '148be66cdb4dbcd3408fa77174dfcca7e728cee75bc9e50a881490bc68d925a3');
INSERT INTO schema_migrations VALUES ('service', 6, '0105-shared-delivery', '70a4ff14208f44d5335600035ca1352637962599ee29daba8fa3a8af62f455da');
INSERT INTO store_commits VALUES (0, 6793518075794241660, 21, 21, 0);
INSERT INTO store_counters VALUES ('outbox.sequence', 0);
INSERT INTO store_counters VALUES ('outbox.pending', 0);
INSERT INTO store_lanes VALUES (0, 21);
INSERT INTO timers VALUES ('anna', 'remote', 3, 1770028800000);
INSERT INTO timers VALUES ('anna', 'local', 3, 1770028800000);
INSERT INTO timers VALUES ('bruno', 'timer', 3, 1770028802000);
INSERT INTO users VALUES ('anna', 2, 3, 0);
INSERT INTO users VALUES ('bruno', 1, 0, 0);
ALTER TABLE ONLY activities_meta
    ADD CONSTRAINT activities_meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY activities
    ADD CONSTRAINT activities_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY activity_starts
    ADD CONSTRAINT activity_starts_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY alert_reports
    ADD CONSTRAINT alert_reports_pkey PRIMARY KEY (apns_id);
ALTER TABLE ONLY change_cursors
    ADD CONSTRAINT change_cursors_pkey PRIMARY KEY (feed);
ALTER TABLE ONLY changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (apns_id);
ALTER TABLE ONLY delivery_meta
    ADD CONSTRAINT delivery_meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY provider_tokens
    ADD CONSTRAINT provider_tokens_pkey PRIMARY KEY (team_id, key_id);
ALTER TABLE ONLY push_budgets
    ADD CONSTRAINT push_budgets_pkey PRIMARY KEY (lane);
ALTER TABLE ONLY push_channels
    ADD CONSTRAINT push_channels_pkey PRIMARY KEY (app, environment, channel_id);
ALTER TABLE ONLY push_ends
    ADD CONSTRAINT push_ends_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY push_ledger
    ADD CONSTRAINT push_ledger_pkey PRIMARY KEY (apns_id);
ALTER TABLE ONLY push_routes
    ADD CONSTRAINT push_routes_app_environment_key UNIQUE (app, environment);
ALTER TABLE ONLY push_routes
    ADD CONSTRAINT push_routes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY push_statistics
    ADD CONSTRAINT push_statistics_pkey PRIMARY KEY (app, hour_ms, measure);
ALTER TABLE ONLY push_tokens
    ADD CONSTRAINT push_tokens_pkey PRIMARY KEY (token_id);
ALTER TABLE ONLY push_tokens
    ADD CONSTRAINT push_tokens_user_id_kind_app_subject_installation_id_genera_key UNIQUE (user_id, kind, app, subject, installation_id, generation);
ALTER TABLE ONLY pushes
    ADD CONSTRAINT pushes_pkey PRIMARY KEY (lane, apns_id);
ALTER TABLE ONLY revoked_keys
    ADD CONSTRAINT revoked_keys_pkey PRIMARY KEY (team_id, key_id);
ALTER TABLE ONLY scheduled_ends
    ADD CONSTRAINT scheduled_ends_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (component, "position");
ALTER TABLE ONLY signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (team_id, key_id);
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
ALTER TABLE ONLY timers
    ADD CONSTRAINT timers_pkey PRIMARY KEY (user_id, subject_id, kind);
ALTER TABLE ONLY unread_summaries
    ADD CONSTRAINT unread_summaries_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY users
    ADD CONSTRAINT users_pkey PRIMARY KEY (user_id);
CREATE INDEX activities_driver ON activities USING btree (user_id, driver_kind, app, driver_subject) WHERE ((ended_at_ms IS NULL) AND (driver_kind > 0));
CREATE INDEX activities_ended ON activities USING btree (ended_at_ms) WHERE (ended_at_ms IS NOT NULL);
CREATE INDEX activities_group ON activities USING btree (app, group_id, user_id, id) WHERE ((ended_at_ms IS NULL) AND (group_id <> ''::text));
CREATE INDEX activities_list ON activities USING btree (user_id, created_at_ms, id);
CREATE INDEX activities_live ON activities USING btree (user_id, created_at_ms, id) WHERE (ended_at_ms IS NULL);
CREATE INDEX alert_reports_queued ON alert_reports USING btree (queued_at_ms);
CREATE INDEX alert_reports_settled ON alert_reports USING btree (settled_at_ms, apns_id) WHERE (settled_at_ms IS NOT NULL);
CREATE INDEX changes_user ON changes USING btree (user_id, sequence);
CREATE INDEX dead_letters_lane ON dead_letters USING btree (lane, apns_id);
CREATE INDEX push_budgets_time ON push_budgets USING btree (updated_at_ms);
CREATE INDEX push_ledger_activity ON push_ledger USING btree (activity_id, apns_id) WHERE (activity_id IS NOT NULL);
CREATE INDEX push_ledger_outcome ON push_ledger USING btree (outcome, apns_id) WHERE (outcome <> 1);
CREATE INDEX push_ledger_reason ON push_ledger USING btree (reason, apns_id) WHERE (reason <> ''::text);
CREATE INDEX push_ledger_user ON push_ledger USING btree (user_id, apns_id);
CREATE INDEX push_statistics_time ON push_statistics USING btree (hour_ms);
CREATE INDEX push_tokens_list ON push_tokens USING btree (user_id, token_id);
CREATE INDEX push_tokens_retired ON push_tokens USING btree (retired_at_ms) WHERE (retired_at_ms IS NOT NULL);
CREATE INDEX push_tokens_used ON push_tokens USING btree (used_at_ms);
CREATE INDEX push_tokens_value ON push_tokens USING btree (token, app);
CREATE INDEX pushes_due ON pushes USING btree (route_id, due_ms, lane) WHERE (state = 0);
CREATE INDEX pushes_id ON pushes USING btree (apns_id);
CREATE INDEX store_idempotency_expiry ON store_idempotency USING btree (expires_at_ms);
CREATE INDEX store_inbox_age ON store_inbox USING btree (seen_at_ms);
CREATE INDEX store_outbox_key ON store_outbox USING btree (topic, message_key, is_dead, sequence);
CREATE INDEX store_outbox_order ON store_outbox USING btree (is_dead, sequence);
CREATE INDEX store_outbox_waiting ON store_outbox USING btree (is_dead, next_attempt_at_ms);
CREATE INDEX timers_due ON timers USING btree (due_ms, subject_id);
