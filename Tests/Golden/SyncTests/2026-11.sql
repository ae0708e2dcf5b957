PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
  component TEXT NOT NULL, position BIGINT NOT NULL, identifier TEXT NOT NULL, checksum TEXT NOT NULL,
  PRIMARY KEY (component, position));
INSERT INTO schema_migrations VALUES('store',0,'store-0001-idempotency-outbox-inbox','5938fc92f93b782044ab0e17b309ab4e1cd075d407dcdd6841264350279fcf3f');
INSERT INTO schema_migrations VALUES('store',1,'store-0002-outbox-trace','57c720fe780ac66a804f1277853438192275c70d2ea831abfecac605454fc8f5');
INSERT INTO schema_migrations VALUES('service',0,'0001-zones-assets-devices','6cbb3cd56627ba106192f8f84e7909ee6ddcc9081ec4df73e895965030ea70ec');
INSERT INTO schema_migrations VALUES('service',1,'0002-content-journal','13f7047e5396e1fdb7a021d2c422f02031f998a5ca1ea28bd84a012c5baf1902');
INSERT INTO schema_migrations VALUES('service',2,'0003-time-fields','7e720a22c009c7022d824b6fd847bdef6cbcf34a142df47f4e5d4884633a41c1');
INSERT INTO schema_migrations VALUES('service',3,'0004-ended-exports-and-wakes','3ae6d7ac3f0cf420efe1f5764961a29a353b985dcf5888deb3a9b9cef9a15e70');
INSERT INTO schema_migrations VALUES('service',4,'0005-content-chunks','e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
CREATE TABLE store_counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO store_counters VALUES('outbox.sequence',0);
INSERT INTO store_counters VALUES('outbox.pending',0);
CREATE TABLE store_idempotency (
  principal TEXT NOT NULL, method TEXT NOT NULL, request_id TEXT NOT NULL,
  request_hash BYTEA NOT NULL, reply BYTEA NOT NULL, expires_at_ms BIGINT NOT NULL,
  PRIMARY KEY (principal, method, request_id));
INSERT INTO store_idempotency VALUES('anna','campanile.sync.v1.DevicesService/PublishUpdate','watch/r_1',X'ce8b2d08d85a18b9a8b3e64676bc6fb9c7d959c5ba0c16b4bc5dc82120cdefea',X'7b2273657175656e6365223a2231227d',1770086400000);
CREATE TABLE store_outbox (
  sequence BIGINT NOT NULL PRIMARY KEY, message_id TEXT NOT NULL, topic TEXT NOT NULL, message_key TEXT NOT NULL,
  payload BYTEA NOT NULL, created_at_ms BIGINT NOT NULL, attempts BIGINT NOT NULL DEFAULT 0,
  next_attempt_at_ms BIGINT NOT NULL, is_dead BIGINT NOT NULL DEFAULT 0, last_error TEXT, trace TEXT);
CREATE TABLE store_inbox (
  source TEXT NOT NULL, message_id TEXT NOT NULL, seen_at_ms BIGINT NOT NULL,
  PRIMARY KEY (source, message_id));
CREATE TABLE sync_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO sync_meta VALUES('log.epoch','fbec110ee9ec3b4c');
CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO counters VALUES('zone',3);
INSERT INTO counters VALUES('uploads',1);
INSERT INTO counters VALUES('generation',0);
INSERT INTO counters VALUES('stored',559);
INSERT INTO counters VALUES('journal',6);
CREATE TABLE users (
  user_id TEXT NOT NULL PRIMARY KEY, zone_count BIGINT NOT NULL, device_count BIGINT NOT NULL,
  upload_count BIGINT NOT NULL, used_bytes BIGINT NOT NULL, revision_floor BIGINT NOT NULL,
  message_sequence BIGINT NOT NULL, dropped_through BIGINT NOT NULL,
  CHECK (zone_count >= 0), CHECK (device_count >= 0), CHECK (upload_count >= 0), CHECK (used_bytes >= 0));
INSERT INTO users VALUES('anna',2,3,1,28,0,1,0);
INSERT INTO users VALUES('bruno',1,1,0,3,0,0,0);
CREATE TABLE zones (
  user_id TEXT NOT NULL, name TEXT NOT NULL, zone_no BIGINT NOT NULL, revision BIGINT NOT NULL,
  asset_count BIGINT NOT NULL, used_bytes BIGINT NOT NULL, compacted_through BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL, is_export_ended BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (user_id, name),
  CHECK (asset_count >= 0), CHECK (used_bytes >= 0));
INSERT INTO zones VALUES('anna','ZentikSyncZone',1,5,1,23,0,1770000000000,1770000000000,0);
INSERT INTO zones VALUES('anna','second',2,1,1,5,0,1770000000000,1770000000000,0);
INSERT INTO zones VALUES('bruno','ZentikSyncZone',3,1,1,3,0,1770000000000,1770000000000,0);
CREATE TABLE deleted_zones (zone_no BIGINT NOT NULL PRIMARY KEY);
CREATE TABLE assets (
  zone_no BIGINT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, PRIMARY KEY (zone_no, name));
INSERT INTO assets VALUES(1,'notes-a',3);
INSERT INTO assets VALUES(2,'b',1);
INSERT INTO assets VALUES(3,'own',1);
CREATE TABLE versions (
  zone_no BIGINT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, number BIGINT NOT NULL,
  record_type TEXT NOT NULL, sync_timestamp_ms BIGINT NOT NULL, record_count BIGINT NOT NULL,
  size_bytes BIGINT NOT NULL, sha256 BYTEA, device_id TEXT NOT NULL, at_ms BIGINT NOT NULL,
  is_deleted BIGINT NOT NULL, is_conflict BIGINT NOT NULL, replaced_at_ms BIGINT,
  PRIMARY KEY (zone_no, name, version));
INSERT INTO versions VALUES(1,'notes-a',1,1,'Note',1770000000000,0,7,X'015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862','phone',1770000000000,0,0,1770000000000);
INSERT INTO versions VALUES(1,'notes-a',2,2,'Note',1770000000000,0,7,X'7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c','phone',1770000000000,0,1,1770000000000);
INSERT INTO versions VALUES(1,'notes-a',3,3,'Note',1770000000000,0,7,X'70778ce01ad8d1a82c80a3500bee476f34651238edeb936c4a7b0161b1395169','tablet',1770000000000,0,0,NULL);
INSERT INTO versions VALUES(1,'notes-gone',4,1,'Note',1770000000000,0,2,X'4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','phone',1770000000000,0,0,1770000000000);
INSERT INTO versions VALUES(1,'notes-gone',5,2,'Note',1770000000000,0,0,NULL,'phone',1770000000000,1,0,1770000000000);
INSERT INTO versions VALUES(2,'b',1,1,'Note',1770000000000,0,5,X'49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684','phone',1770000000000,0,0,NULL);
INSERT INTO versions VALUES(3,'own',1,1,'Note',1770000000000,0,3,X'06d033ece6645de592db973644cf7357255f24536ff7b03c3b2ace10736f7636','phone',1770000000000,0,0,NULL);
CREATE TABLE contents (
  sha256 BYTEA NOT NULL PRIMARY KEY, size_bytes BIGINT NOT NULL, stored_bytes BIGINT NOT NULL,
  ref_count BIGINT NOT NULL, unreferenced_at_ms BIGINT, CHECK (ref_count >= 0));
INSERT INTO contents VALUES(X'015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862',7,95,1,NULL);
INSERT INTO contents VALUES(X'7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c',7,95,1,NULL);
INSERT INTO contents VALUES(X'70778ce01ad8d1a82c80a3500bee476f34651238edeb936c4a7b0161b1395169',7,95,1,NULL);
INSERT INTO contents VALUES(X'4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945',2,90,1,NULL);
INSERT INTO contents VALUES(X'49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684',5,93,1,NULL);
INSERT INTO contents VALUES(X'06d033ece6645de592db973644cf7357255f24536ff7b03c3b2ace10736f7636',3,91,1,NULL);
CREATE TABLE uploads (
  user_id TEXT NOT NULL, id TEXT NOT NULL, zone TEXT NOT NULL, record_type TEXT NOT NULL,
  size_bytes BIGINT NOT NULL, sha256 BYTEA NOT NULL, is_strict BIGINT NOT NULL, expires_at_ms BIGINT NOT NULL,
  facts_json TEXT, PRIMARY KEY (user_id, id));
INSERT INTO uploads VALUES('anna','u_01kge3h900h705sqfwyby1','ZentikSyncZone','Note',3,X'16390873ae6b6a173fc894a873bab02283debbd320b5f0758849d01afa6ee8b6',0,1770003600000,NULL);
CREATE TABLE devices (
  user_id TEXT NOT NULL, device_id TEXT NOT NULL, role BIGINT NOT NULL, display_name TEXT NOT NULL,
  created_at_ms BIGINT NOT NULL, acknowledged BIGINT NOT NULL, wakes_for_updates BIGINT NOT NULL DEFAULT 0, app TEXT NOT NULL DEFAULT '', installation_id TEXT NOT NULL DEFAULT '', wakes_spent_ms BIGINT NOT NULL DEFAULT 0, woken_at_ms BIGINT, PRIMARY KEY (user_id, device_id));
INSERT INTO devices VALUES('anna','phone',2,'',1770000000000,0,0,'','phone',0,NULL);
INSERT INTO devices VALUES('anna','watch',1,'',1770000000000,0,0,'','watch',0,NULL);
INSERT INTO devices VALUES('anna','tablet',2,'',1770000000000,0,0,'','tablet',0,NULL);
INSERT INTO devices VALUES('bruno','phone',2,'',1770000000000,0,0,'','phone',0,NULL);
CREATE TABLE messages (
  user_id TEXT NOT NULL, sequence BIGINT NOT NULL, device_id TEXT NOT NULL, mutation_id TEXT NOT NULL,
  payload BYTEA NOT NULL, at_ms BIGINT NOT NULL, PRIMARY KEY (user_id, sequence));
INSERT INTO messages VALUES('anna',1,'watch','r_1',X'7b2274797065223a2253594e435f5550444154455f545950455f4e4f54494649434154494f4e5f52454144222c22656e746974794964223a226e5f31222c226576656e7454696d65223a22323032362d30322d30325430323a34303a30305a227d',1770000000000);
CREATE TABLE export_queue (
  user_id TEXT NOT NULL PRIMARY KEY, generation BIGINT NOT NULL, due_ms BIGINT NOT NULL, attempts BIGINT NOT NULL);
CREATE TABLE content_journal (
  sequence BIGINT NOT NULL PRIMARY KEY, sha256 BYTEA NOT NULL, size_bytes BIGINT NOT NULL, file BYTEA NOT NULL);
INSERT INTO content_journal VALUES(1,X'015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862',95,X'434d5053594e43310000000700000007a8d7323fdaeaa252dfc80218fdbd215d2645f4162376baae594540f64029cbdd7b2261223a317d0000000000000000015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862');
INSERT INTO content_journal VALUES(2,X'7e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c',95,X'434d5053594e43310000000700000007772b9767f88d257d4f7ae0c4d3641087cad08e2c7a934169151ad477382d70d47b2261223a327d00000000000000007e8059f495589fcd981232cc11d00b00da3802c01d688fa1cf1f6bed6e5bb33c');
INSERT INTO content_journal VALUES(3,X'70778ce01ad8d1a82c80a3500bee476f34651238edeb936c4a7b0161b1395169',95,X'434d5053594e43310000000700000007c3bf4e0b518536cc1a89729522472c5d3649ea091c7a192458228b5b0e0632a77b2261223a337d000000000000000070778ce01ad8d1a82c80a3500bee476f34651238edeb936c4a7b0161b1395169');
INSERT INTO content_journal VALUES(4,X'4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945',90,X'434d5053594e43310000000200000002bb70ec8253c88d2cfaa75d1be5367c1a54bc229674cfdaff8595abddf64d59f55b5d00000000000000004f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945');
INSERT INTO content_journal VALUES(5,X'49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684',93,X'434d5053594e433100000005000000053f8703a9b67ae53c32f923fa0a5b6c24146ff81f02e0a46864e8120ded335ab05b312c325d000000000000000049a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684');
INSERT INTO content_journal VALUES(6,X'06d033ece6645de592db973644cf7357255f24536ff7b03c3b2ace10736f7636',91,X'434d5053594e433100000003000000038b57c93de618076e2751acd25fee7f1c3a64ec5f27fe34274e6c79e72ad002375b335d000000000000000006d033ece6645de592db973644cf7357255f24536ff7b03c3b2ace10736f7636');
CREATE TABLE subscriptions (
  user_id TEXT NOT NULL, zone TEXT NOT NULL, device_id TEXT NOT NULL, record_type TEXT NOT NULL,
  name TEXT NOT NULL, PRIMARY KEY (user_id, zone, device_id, record_type, name));
CREATE TABLE wakes (
  user_id TEXT NOT NULL, device_id TEXT NOT NULL, zones TEXT NOT NULL, generation BIGINT NOT NULL,
  made_ms BIGINT NOT NULL, due_ms BIGINT NOT NULL, attempts BIGINT NOT NULL, PRIMARY KEY (user_id, device_id));
CREATE INDEX store_idempotency_expiry ON store_idempotency (expires_at_ms);
CREATE INDEX store_outbox_order ON store_outbox (is_dead, sequence);
CREATE INDEX store_outbox_key ON store_outbox (topic, message_key, is_dead, sequence);
CREATE INDEX store_outbox_waiting ON store_outbox (is_dead, next_attempt_at_ms);
CREATE INDEX store_inbox_age ON store_inbox (seen_at_ms);
CREATE INDEX users_used ON users (used_bytes);
CREATE UNIQUE INDEX zones_number ON zones (zone_no);
CREATE INDEX zones_used ON zones (used_bytes);
CREATE UNIQUE INDEX versions_number ON versions (zone_no, name, number);
CREATE INDEX versions_revision ON versions (zone_no, version, name);
CREATE INDEX versions_conflict ON versions (zone_no, name, version) WHERE is_conflict = 1;
CREATE INDEX versions_content ON versions (zone_no, sha256) WHERE sha256 IS NOT NULL;
CREATE INDEX versions_replaced ON versions (replaced_at_ms) WHERE replaced_at_ms IS NOT NULL;
CREATE INDEX versions_history ON versions (zone_no, replaced_at_ms)
  WHERE replaced_at_ms IS NOT NULL AND is_conflict = 0;
CREATE INDEX contents_unreferenced ON contents (unreferenced_at_ms) WHERE unreferenced_at_ms IS NOT NULL;
CREATE UNIQUE INDEX uploads_id ON uploads (id);
CREATE INDEX uploads_expiry ON uploads (expires_at_ms);
CREATE UNIQUE INDEX messages_mutation ON messages (user_id, device_id, mutation_id);
CREATE INDEX messages_time ON messages (at_ms, user_id, sequence);
CREATE INDEX export_queue_due ON export_queue (due_ms, user_id);
CREATE INDEX subscriptions_device ON subscriptions (user_id, device_id);
CREATE INDEX wakes_due ON wakes (due_ms, user_id, device_id);
COMMIT;
PRAGMA application_id = 1128353104;
