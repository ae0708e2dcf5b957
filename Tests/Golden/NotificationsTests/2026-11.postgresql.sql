CREATE TABLE action_runs (
    user_id text NOT NULL,
    id text NOT NULL,
    notification_id text NOT NULL,
    created_at_ms bigint NOT NULL,
    payload bytea NOT NULL
);
CREATE TABLE automation (
    user_id text NOT NULL,
    kind bigint NOT NULL,
    id text NOT NULL,
    payload bytea NOT NULL
);
CREATE TABLE blocked_users (
    user_id text NOT NULL,
    blocked_id text NOT NULL,
    created_at_ms bigint NOT NULL
);
CREATE TABLE buckets (
    user_id text NOT NULL,
    id text NOT NULL,
    name text NOT NULL,
    description text,
    color text,
    icon_url text,
    is_orphan bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    version bigint NOT NULL,
    notification_count bigint NOT NULL,
    unread_count bigint NOT NULL,
    owner_id text DEFAULT ''::text NOT NULL,
    role bigint DEFAULT 4 NOT NULL,
    share_expires_at_ms bigint,
    share_count bigint DEFAULT 0 NOT NULL,
    is_muted bigint DEFAULT 0 NOT NULL,
    snoozed_until_ms bigint,
    quiet_hours_json text,
    max_age_days bigint DEFAULT 0 NOT NULL,
    max_count bigint DEFAULT 0 NOT NULL,
    deleted_at_ms bigint,
    settings_version bigint DEFAULT 1 NOT NULL,
    settings_updated_at_ms bigint,
    after_read_ms bigint DEFAULT 0 NOT NULL,
    CONSTRAINT buckets_check CHECK ((notification_count >= unread_count)),
    CONSTRAINT buckets_unread_count_check CHECK ((unread_count >= 0))
);
CREATE TABLE change_cursors (
    feed text NOT NULL,
    sequence bigint NOT NULL
);
CREATE TABLE changes (
    sequence bigint NOT NULL,
    user_id text NOT NULL,
    kind bigint NOT NULL,
    bucket_id text NOT NULL,
    notification_id text NOT NULL,
    previous_bucket_id text,
    at_ms bigint NOT NULL,
    is_alert bigint DEFAULT 0 NOT NULL,
    trace text
);
CREATE TABLE content_refs (
    user_id text NOT NULL,
    notification_id text NOT NULL,
    content_id text NOT NULL
);
CREATE TABLE contents (
    content_id text NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE deleted_notifications (
    user_id text NOT NULL,
    id text NOT NULL,
    bucket_id text NOT NULL,
    is_with_bucket bigint NOT NULL,
    deleted_at_ms bigint NOT NULL,
    payload bytea NOT NULL
);
CREATE TABLE deliveries (
    user_id text NOT NULL,
    notification_id text NOT NULL,
    at_ms bigint NOT NULL,
    device_id text NOT NULL,
    outcome bigint NOT NULL,
    reason text NOT NULL,
    release_at_ms bigint,
    push_id text NOT NULL
);
CREATE TABLE engagement (
    sequence bigint NOT NULL,
    owner_id text NOT NULL,
    bucket_id text NOT NULL,
    notification_id text NOT NULL,
    user_id text NOT NULL,
    device_id text NOT NULL,
    kind bigint NOT NULL,
    action_id text NOT NULL,
    event_at_ms bigint NOT NULL,
    at_ms bigint NOT NULL
);
CREATE TABLE engagement_counts (
    owner_id text NOT NULL,
    bucket_id text NOT NULL,
    notification_id text NOT NULL,
    received_count bigint NOT NULL,
    opened_count bigint NOT NULL,
    dismissed_count bigint NOT NULL,
    acted_count bigint NOT NULL,
    updated_at_ms bigint NOT NULL
);
CREATE TABLE engagement_log (
    id bigint NOT NULL,
    last_sequence bigint NOT NULL,
    purged_through bigint NOT NULL
);
CREATE TABLE invitations (
    id text NOT NULL,
    owner_id text NOT NULL,
    bucket_id text NOT NULL,
    user_id text NOT NULL,
    inviter_id text NOT NULL,
    bucket_name text NOT NULL,
    role bigint NOT NULL,
    share_expires_at_ms bigint,
    created_at_ms bigint NOT NULL,
    ends_at_ms bigint NOT NULL,
    state bigint NOT NULL,
    is_hidden bigint NOT NULL
);
CREATE TABLE invite_codes (
    id text NOT NULL,
    owner_id text NOT NULL,
    bucket_id text NOT NULL,
    creator_id text NOT NULL,
    role bigint NOT NULL,
    max_uses bigint NOT NULL,
    use_count bigint NOT NULL,
    hint text NOT NULL,
    secret_hash bytea NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL
);
CREATE TABLE maintenance_cursors (
    name text NOT NULL,
    user_id text NOT NULL,
    id text NOT NULL
);
CREATE TABLE notifications (
    user_id text NOT NULL,
    id text NOT NULL,
    bucket_id text NOT NULL,
    title text NOT NULL,
    subtitle text,
    body text,
    priority bigint NOT NULL,
    content_json text,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    read_at_ms bigint,
    sent_at_ms bigint,
    version bigint NOT NULL,
    expires_at_ms bigint,
    collapse_key text,
    delivery_state bigint DEFAULT 3 NOT NULL,
    release_at_ms bigint,
    repeat_json text,
    send_count bigint DEFAULT 0 NOT NULL
);
CREATE TABLE notifications_meta (
    name text NOT NULL,
    value text NOT NULL
);
CREATE TABLE publish_keys (
    id text NOT NULL,
    owner_id text NOT NULL,
    bucket_id text NOT NULL,
    name text NOT NULL,
    hint text NOT NULL,
    secret_hash bytea NOT NULL,
    expires_at_ms bigint,
    created_at_ms bigint NOT NULL
);
CREATE TABLE scheduled (
    user_id text NOT NULL,
    id text NOT NULL,
    deliver_at_ms bigint NOT NULL,
    payload bytea NOT NULL
);
CREATE TABLE schema_migrations (
    component text NOT NULL,
    "position" bigint NOT NULL,
    identifier text NOT NULL,
    checksum text NOT NULL
);
CREATE TABLE search_documents (
    document_id bigint NOT NULL,
    user_id text NOT NULL,
    notification_id text NOT NULL,
    bucket_id text NOT NULL
);
CREATE TABLE search_index (
    rowid bigint NOT NULL,
    title text NOT NULL,
    subtitle text,
    body text,
    scope text NOT NULL,
    words tsvector
);
CREATE TABLE search_state (
    id bigint NOT NULL,
    sequence bigint NOT NULL,
    rebuild_user text,
    rebuild_notification text NOT NULL,
    bucket_position text NOT NULL,
    CONSTRAINT search_state_id_check CHECK ((id = 1))
);
CREATE TABLE search_users (
    user_id text NOT NULL,
    number bigint NOT NULL
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
CREATE TABLE summaries (
    user_id text NOT NULL,
    content bytea NOT NULL
);
CREATE TABLE timers (
    user_id text NOT NULL,
    subject_id text NOT NULL,
    kind bigint NOT NULL,
    due_ms bigint NOT NULL
);
CREATE TABLE users (
    user_id text NOT NULL,
    bucket_count bigint NOT NULL,
    notification_count bigint NOT NULL,
    unread_count bigint NOT NULL,
    compacted_through bigint NOT NULL,
    settings_json text,
    settings_version bigint DEFAULT 0 NOT NULL,
    has_quiet_hours bigint DEFAULT 0 NOT NULL,
    deleted_count bigint DEFAULT 0 NOT NULL,
    scheduled_count bigint DEFAULT 0 NOT NULL,
    shared_bucket_count bigint DEFAULT 0 NOT NULL,
    CONSTRAINT users_bucket_count_check CHECK ((bucket_count >= 0)),
    CONSTRAINT users_check CHECK ((notification_count >= unread_count)),
    CONSTRAINT users_shared_bucket_count_check CHECK ((shared_bucket_count >= 0)),
    CONSTRAINT users_unread_count_check CHECK ((unread_count >= 0))
);
INSERT INTO automation VALUES ('anna', 1, 't_01kge3h9002bkwr9e05tkw', '\x7b226964223a22745f30316b6765336839303032626b777239653035746b77222c226e616d65223a2274222c227469746c65223a227b7b686f73747d7d20697320646f776e222c2263726561746554696d65223a22323032362d30322d30325430323a34303a30305a222c2275706461746554696d65223a22323032362d30322d30325430323a34303a30305a222c2265746167223a227631222c2272657175697265645661726961626c6573223a5b22686f7374225d7d');
INSERT INTO buckets VALUES ('anna', 'b_01kge3h900y0drys6xxcbe', 'Work', NULL, NULL, NULL, 0, 1770000000000, 1770000000000, 2, 1, 1, '', 4, NULL, 0, 0, 1770003600000, NULL, 0, 0, NULL, 2, 1770000000000, 0);
INSERT INTO buckets VALUES ('anna', 'b_01kge3h900y0drys6xkkyg', 'Home', NULL, NULL, NULL, 0, 1770000000000, 1770000000000, 1, 2, 1, '', 4, NULL, 1, 0, NULL, NULL, 0, 0, NULL, 1, NULL, 0);
INSERT INTO buckets VALUES ('bruno', 'b_01kge3h900y0drys6xkkyg', 'Home', NULL, NULL, NULL, 0, 1770000000000, 1770000000000, 1, 2, 1, 'anna', 1, NULL, 0, 0, NULL, NULL, 0, 0, NULL, 1, NULL, 0);
INSERT INTO changes VALUES (1, 'anna', 4, 'b_01kge3h900y0drys6xkkyg', '', NULL, 1770000000000, 0, NULL);
INSERT INTO changes VALUES (2, 'anna', 4, 'b_01kge3h900y0drys6xxcbe', '', NULL, 1770000000000, 0, NULL);
INSERT INTO changes VALUES (3, 'bruno', 4, 'b_01kge3h900y0drys6xkkyg', '', NULL, 1770000000000, 0, NULL);
INSERT INTO changes VALUES (4, 'anna', 1, 'b_01kge3h900y0drys6xkkyg', 'n_01kge3h900y0drys6zv910', NULL, 1770000000000, 1, NULL);
INSERT INTO changes VALUES (5, 'bruno', 1, 'b_01kge3h900y0drys6xkkyg', 'n_01kge3h900y0drys6zv910', NULL, 1770000000000, 1, NULL);
INSERT INTO changes VALUES (6, 'anna', 1, 'b_01kge3h900y0drys6xxcbe', 'n_01kge3h900y0drys70hf7p', NULL, 1770000000000, 1, NULL);
INSERT INTO changes VALUES (7, 'anna', 1, 'b_01kge3h900y0drys6xxcbe', 'n_01kge3h900y0drys713kwk', NULL, 1770000000000, 1, NULL);
INSERT INTO changes VALUES (8, 'anna', 2, 'b_01kge3h900y0drys6xkkyg', 'n_01kge3h900y0drys6zv910', NULL, 1770000000000, 0, NULL);
INSERT INTO changes VALUES (9, 'bruno', 2, 'b_01kge3h900y0drys6xkkyg', 'n_01kge3h900y0drys6zv910', NULL, 1770000000000, 0, NULL);
INSERT INTO changes VALUES (10, 'anna', 3, 'b_01kge3h900y0drys6xxcbe', 'n_01kge3h900y0drys713kwk', NULL, 1770000000000, 0, NULL);
INSERT INTO changes VALUES (11, 'anna', 5, 'b_01kge3h900y0drys6xxcbe', '', NULL, 1770000000000, 0, NULL);
INSERT INTO changes VALUES (12, 'anna', 1, 'b_01kge3h900y0drys6xkkyg', 'n_01kge3hdw826yc9y6n92jq', NULL, 1770000005000, 1, NULL);
INSERT INTO changes VALUES (13, 'bruno', 1, 'b_01kge3h900y0drys6xkkyg', 'n_01kge3hdw826yc9y6n92jq', NULL, 1770000005000, 1, NULL);
INSERT INTO deleted_notifications VALUES ('anna', 'n_01kge3h900y0drys713kwk', 'b_01kge3h900y0drys6xxcbe', 0, 1770000000000, '\x7b226964223a226e5f30316b676533683930307930647279733731336b776b222c226275636b65744964223a22625f30316b67653368393030793064727973367878636265222c227469746c65223a22676f6e65222c227072696f72697479223a225052494f524954595f4e4f524d414c222c2263726561746554696d65223a22323032362d30322d30325430323a34303a30305a222c2275706461746554696d65223a22323032362d30322d30325430323a34303a30305a222c2273656e6454696d65223a22323032362d30322d30325430323a34303a30305a222c2265746167223a227631222c2264656c69766572795374617465223a2244454c49564552595f53544154455f53454e54222c2273656e64436f756e74223a317d');
INSERT INTO engagement_log VALUES (1, 0, 0);
INSERT INTO invitations VALUES ('i_01kge3h900y0drys6y1bff', 'anna', 'b_01kge3h900y0drys6xkkyg', 'bruno', 'anna', 'Home', 1, NULL, 1770000000000, 1770000000000, 2, 0);
INSERT INTO invitations VALUES ('i_01kge3h900y0drys6z01s6', 'anna', 'b_01kge3h900y0drys6xxcbe', 'carla', 'anna', 'Work', 1, NULL, 1770000000000, 1770604800000, 1, 0);
INSERT INTO notifications VALUES ('anna', 'n_01kge3h900y0drys70hf7p', 'b_01kge3h900y0drys6xxcbe', 'Disk', 'of the server', 'It is
full: 100 %', 2, NULL, 1770000000000, 1770000000000, NULL, 1770000000000, 1, NULL, NULL, 3, NULL, NULL, 1);
INSERT INTO notifications VALUES ('anna', 'n_01kge3h900y0drys6zv910', 'b_01kge3h900y0drys6xkkyg', 'Café öffnet', NULL, NULL, 2, NULL, 1770000000000, 1770000000000, 1770000000000, 1770000000000, 2, NULL, NULL, 3, NULL, NULL, 1);
INSERT INTO notifications VALUES ('bruno', 'n_01kge3h900y0drys6zv910', 'b_01kge3h900y0drys6xkkyg', 'Café öffnet', NULL, NULL, 2, NULL, 1770000000000, 1770000000000, 1770000000000, 1770000000000, 2, NULL, NULL, 3, NULL, NULL, 1);
INSERT INTO notifications VALUES ('anna', 'n_01kge3hdw826yc9y6n92jq', 'b_01kge3h900y0drys6xkkyg', 'After Disk', NULL, NULL, 2, NULL, 1770000005000, 1770000005000, NULL, 1770000005000, 1, NULL, NULL, 3, NULL, NULL, 1);
INSERT INTO notifications VALUES ('bruno', 'n_01kge3hdw826yc9y6n92jq', 'b_01kge3h900y0drys6xkkyg', 'After Disk', NULL, NULL, 2, NULL, 1770000005000, 1770000005000, NULL, 1770000005000, 1, NULL, NULL, 3, NULL, NULL, 1);
INSERT INTO notifications_meta VALUES ('log.epoch', '30467387add6d43b');
INSERT INTO notifications_meta VALUES ('receipt.key', '49c4ca48bfb8a5e0702c10dd0f1e57a60b8015135ab0b9e5998c5d77cafcbf6b');
INSERT INTO schema_migrations VALUES ('store', 0, 'store-0001-idempotency-outbox-inbox', '5938fc92f93b782044ab0e17b309ab4e1cd075d407dcdd6841264350279fcf3f');
INSERT INTO schema_migrations VALUES ('store', 1, 'store-0002-outbox-trace', '57c720fe780ac66a804f1277853438192275c70d2ea831abfecac605454fc8f5');
INSERT INTO schema_migrations VALUES ('service', 0, '0001-buckets-notifications-changes', '0ef38d3f99e872143527ccf22f1f60b3e5a617b5b5114a9abf8cc1211f5e3ef7');
INSERT INTO schema_migrations VALUES ('service', 1, '0002-shares-schedules-deliveries', '1b4009da3b72f3e2f721efe4135de3336866ed75c38ed4db2852a5b32f71d5e4');
INSERT INTO schema_migrations VALUES ('service', 2, '0003-search-retention', '6b838b0aa6653463ef77511d3406b3ea13d2c016f7ca2d43b71f83a80d7605ec');
INSERT INTO schema_migrations VALUES ('service', 3, '0004-search-words', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
INSERT INTO schema_migrations VALUES ('service', 4, '0005-change-traces', 'e163270a67f41a3e648855e3152b06d55d1e6bf01157debf68d6339710acd0cb');
INSERT INTO schema_migrations VALUES ('service', 5, '0006-search-by-user', '37d36bf97d4743c617fa52b1c1d6e5d302d14999d62ce0c4043bf4f2fc2f2b45');
INSERT INTO schema_migrations VALUES ('service', 6, '0007-invitations', '48ec1461604f9410557b6c1ee5e0b3b2bdee91d8584a408d0b368c9269221ea8');
INSERT INTO schema_migrations VALUES ('service', 7, '0008-bucket-settings', '0631e1a34025bbb9854b3e4b73e76dc80c5f7cc4b92310d66c7d42438e560900');
INSERT INTO schema_migrations VALUES ('service', 8, '0009-stored-names', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
INSERT INTO schema_migrations VALUES ('service', 9, '0010-engagement', '86ad566aeb455e98b7fd39e7f84e2ed949cb2df655e265712d8547fe15d0d5cb');
INSERT INTO search_documents VALUES (57999360000008192, 'anna', 'n_01kge3h900y0drys6zv910', 'b_01kge3h900y0drys6xkkyg');
INSERT INTO search_documents VALUES (57999360163848192, 'anna', 'n_01kge3hdw826yc9y6n92jq', 'b_01kge3h900y0drys6xkkyg');
INSERT INTO search_documents VALUES (57999360000008200, 'anna', 'n_01kge3h900y0drys70hf7p', 'b_01kge3h900y0drys6xxcbe');
INSERT INTO search_documents VALUES (57999360000008208, 'bruno', 'n_01kge3h900y0drys6zv910', 'b_01kge3h900y0drys6xkkyg');
INSERT INTO search_documents VALUES (57999360163848200, 'bruno', 'n_01kge3hdw826yc9y6n92jq', 'b_01kge3h900y0drys6xkkyg');
INSERT INTO search_index VALUES (57999360000008192, '000001Café 000001öffnet', NULL, NULL, '000001b625f30316b6765336839303079306472797336786b6b7967', '''#000001b625f30316b6765336839303079306472797336786b6b7967'' ''000001cafe'' ''000001offnet''');
INSERT INTO search_index VALUES (57999360163848192, '000001After 000001Disk', NULL, NULL, '000001b625f30316b6765336839303079306472797336786b6b7967', '''#000001b625f30316b6765336839303079306472797336786b6b7967'' ''000001after'' ''000001disk''');
INSERT INTO search_index VALUES (57999360000008200, '000001Disk', '000001of 000001the 000001server', '000001It 000001is 000001full 000001100', '000001b625f30316b67653368393030793064727973367878636265', '''#000001b625f30316b67653368393030793064727973367878636265'' ''000001100'' ''000001disk'' ''000001full'' ''000001is'' ''000001it'' ''000001of'' ''000001server'' ''000001the''');
INSERT INTO search_index VALUES (57999360000008208, '000002Café 000002öffnet', NULL, NULL, '000002b625f30316b6765336839303079306472797336786b6b7967', '''#000002b625f30316b6765336839303079306472797336786b6b7967'' ''000002cafe'' ''000002offnet''');
INSERT INTO search_index VALUES (57999360163848200, '000002After 000002Disk', NULL, NULL, '000002b625f30316b6765336839303079306472797336786b6b7967', '''#000002b625f30316b6765336839303079306472797336786b6b7967'' ''000002after'' ''000002disk''');
INSERT INTO search_state VALUES (1, 13, NULL, '', '');
INSERT INTO search_users VALUES ('anna', 1);
INSERT INTO search_users VALUES ('bruno', 2);
INSERT INTO store_commits VALUES (0, 1270076615901229371, 30, 30, 0);
INSERT INTO store_counters VALUES ('outbox.sequence', 13);
INSERT INTO store_counters VALUES ('outbox.pending', 2);
INSERT INTO store_lanes VALUES (0, 30);
INSERT INTO store_outbox VALUES (12, '314fa7eb49ad602974fa4af03f19f2e4', 'unread-summary', 'anna', '\x', 1770000005000, 0, 1770000005000, 0, NULL, NULL);
INSERT INTO store_outbox VALUES (13, 'ec0c160f52b54d814473ebe86ed3aaaf', 'unread-summary', 'bruno', '\x', 1770000005000, 0, 1770000005000, 0, NULL, NULL);
INSERT INTO users VALUES ('anna', 2, 3, 2, 0, NULL, 0, 0, 1, 0, 0);
INSERT INTO users VALUES ('bruno', 0, 2, 1, 0, NULL, 0, 0, 0, 0, 1);
ALTER TABLE ONLY action_runs
    ADD CONSTRAINT action_runs_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY automation
    ADD CONSTRAINT automation_pkey PRIMARY KEY (user_id, kind, id);
ALTER TABLE ONLY blocked_users
    ADD CONSTRAINT blocked_users_pkey PRIMARY KEY (user_id, blocked_id);
ALTER TABLE ONLY buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY change_cursors
    ADD CONSTRAINT change_cursors_pkey PRIMARY KEY (feed);
ALTER TABLE ONLY changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY content_refs
    ADD CONSTRAINT content_refs_pkey PRIMARY KEY (user_id, notification_id, content_id);
ALTER TABLE ONLY contents
    ADD CONSTRAINT contents_pkey PRIMARY KEY (content_id);
ALTER TABLE ONLY deleted_notifications
    ADD CONSTRAINT deleted_notifications_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (user_id, notification_id, at_ms, device_id, outcome, push_id);
ALTER TABLE ONLY engagement_counts
    ADD CONSTRAINT engagement_counts_pkey PRIMARY KEY (owner_id, bucket_id, notification_id);
ALTER TABLE ONLY engagement_log
    ADD CONSTRAINT engagement_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY engagement
    ADD CONSTRAINT engagement_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY invite_codes
    ADD CONSTRAINT invite_codes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY maintenance_cursors
    ADD CONSTRAINT maintenance_cursors_pkey PRIMARY KEY (name);
ALTER TABLE ONLY notifications_meta
    ADD CONSTRAINT notifications_meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY publish_keys
    ADD CONSTRAINT publish_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY scheduled
    ADD CONSTRAINT scheduled_pkey PRIMARY KEY (user_id, id);
ALTER TABLE ONLY schema_migrations
    ADD CONSTRAINT schema_migrations_pkey PRIMARY KEY (component, "position");
ALTER TABLE ONLY search_documents
    ADD CONSTRAINT search_documents_pkey PRIMARY KEY (document_id);
ALTER TABLE ONLY search_index
    ADD CONSTRAINT search_index_pkey PRIMARY KEY (rowid);
ALTER TABLE ONLY search_state
    ADD CONSTRAINT search_state_pkey PRIMARY KEY (id);
ALTER TABLE ONLY search_users
    ADD CONSTRAINT search_users_pkey PRIMARY KEY (user_id);
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
ALTER TABLE ONLY summaries
    ADD CONSTRAINT summaries_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY timers
    ADD CONSTRAINT timers_pkey PRIMARY KEY (user_id, subject_id, kind);
ALTER TABLE ONLY users
    ADD CONSTRAINT users_pkey PRIMARY KEY (user_id);
CREATE INDEX action_runs_notification ON action_runs USING btree (user_id, notification_id, id);
CREATE INDEX action_runs_time ON action_runs USING btree (created_at_ms);
CREATE INDEX buckets_deleted ON buckets USING btree (user_id, name, id) WHERE (deleted_at_ms IS NOT NULL);
CREATE INDEX buckets_deleted_time ON buckets USING btree (deleted_at_ms, user_id, id) WHERE (deleted_at_ms IS NOT NULL);
CREATE INDEX buckets_members ON buckets USING btree (id, user_id) WHERE (owner_id <> ''::text);
CREATE INDEX buckets_name ON buckets USING btree (user_id, name, id) WHERE (deleted_at_ms IS NULL);
CREATE INDEX buckets_retention ON buckets USING btree (user_id, id) WHERE ((max_age_days > 0) OR (max_count > 0) OR (after_read_ms > 0));
CREATE INDEX changes_user ON changes USING btree (user_id, sequence);
CREATE INDEX content_refs_content ON content_refs USING btree (content_id);
CREATE INDEX deleted_notifications_bucket ON deleted_notifications USING btree (user_id, bucket_id, id);
CREATE INDEX deleted_notifications_list ON deleted_notifications USING btree (user_id, deleted_at_ms, id) WHERE (is_with_bucket = 0);
CREATE INDEX deleted_notifications_time ON deleted_notifications USING btree (deleted_at_ms, user_id, id);
CREATE INDEX deliveries_time ON deliveries USING btree (at_ms);
CREATE INDEX engagement_actions ON engagement USING btree (owner_id, bucket_id, notification_id, action_id, user_id) WHERE (kind = 4);
CREATE INDEX engagement_bucket ON engagement USING btree (owner_id, bucket_id, sequence);
CREATE INDEX engagement_counts_time ON engagement_counts USING btree (updated_at_ms) WHERE (notification_id <> ''::text);
CREATE UNIQUE INDEX engagement_report ON engagement USING btree (user_id, notification_id, kind, action_id, device_id);
CREATE INDEX engagement_time ON engagement USING btree (at_ms);
CREATE UNIQUE INDEX invitations_bucket ON invitations USING btree (owner_id, bucket_id, user_id);
CREATE INDEX invitations_end ON invitations USING btree (ends_at_ms);
CREATE INDEX invitations_pair ON invitations USING btree (owner_id, user_id);
CREATE INDEX invitations_received ON invitations USING btree (user_id, id) WHERE ((state = 1) AND (is_hidden = 0));
CREATE INDEX invite_codes_bucket ON invite_codes USING btree (owner_id, bucket_id, id);
CREATE INDEX invite_codes_expiry ON invite_codes USING btree (expires_at_ms);
CREATE UNIQUE INDEX invite_codes_secret ON invite_codes USING btree (secret_hash);
CREATE INDEX notifications_bucket ON notifications USING btree (user_id, bucket_id, id);
CREATE INDEX notifications_bucket_read ON notifications USING btree (user_id, bucket_id, read_at_ms) WHERE (read_at_ms IS NOT NULL);
CREATE INDEX notifications_bucket_unread ON notifications USING btree (user_id, bucket_id, id) WHERE (read_at_ms IS NULL);
CREATE INDEX notifications_collapse ON notifications USING btree (user_id, bucket_id, collapse_key) WHERE (collapse_key IS NOT NULL);
CREATE INDEX notifications_unread ON notifications USING btree (user_id, id) WHERE (read_at_ms IS NULL);
CREATE INDEX publish_keys_bucket ON publish_keys USING btree (owner_id, bucket_id, id);
CREATE UNIQUE INDEX publish_keys_secret ON publish_keys USING btree (secret_hash);
CREATE INDEX search_documents_bucket ON search_documents USING btree (user_id, bucket_id, notification_id);
CREATE UNIQUE INDEX search_documents_notification ON search_documents USING btree (user_id, notification_id);
CREATE INDEX search_index_words ON search_index USING gin (words);
CREATE UNIQUE INDEX search_users_number ON search_users USING btree (number);
CREATE INDEX store_idempotency_expiry ON store_idempotency USING btree (expires_at_ms);
CREATE INDEX store_inbox_age ON store_inbox USING btree (seen_at_ms);
CREATE INDEX store_outbox_key ON store_outbox USING btree (topic, message_key, is_dead, sequence);
CREATE INDEX store_outbox_order ON store_outbox USING btree (is_dead, sequence);
CREATE INDEX store_outbox_waiting ON store_outbox USING btree (is_dead, next_attempt_at_ms);
CREATE INDEX timers_due ON timers USING btree (due_ms, subject_id);
