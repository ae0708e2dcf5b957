PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
  component TEXT NOT NULL, position BIGINT NOT NULL, identifier TEXT NOT NULL, checksum TEXT NOT NULL,
  PRIMARY KEY (component, position));
INSERT INTO schema_migrations VALUES('store',0,'store-0001-idempotency-outbox-inbox','5938fc92f93b782044ab0e17b309ab4e1cd075d407dcdd6841264350279fcf3f');
INSERT INTO schema_migrations VALUES('store',1,'store-0002-outbox-trace','57c720fe780ac66a804f1277853438192275c70d2ea831abfecac605454fc8f5');
INSERT INTO schema_migrations VALUES('service',0,'0001-create-api-keys','284f1d1a198fc816e145ed7aa4b507c33ae8a71d28908cbddb6bd70b87ffcd74');
INSERT INTO schema_migrations VALUES('service',1,'0002-keep-lifetimes-of-api-keys','4d95725177d7c287fad26c1aeb8d85bfb3e64565bf006499715c1a2a1e5e0a47');
INSERT INTO schema_migrations VALUES('service',2,'0003-index-replies-by-principal','100d2dfa37e45c24db9966c583cfcda631e7ae17244fe0030f3096f6e8773ee2');
INSERT INTO schema_migrations VALUES('service',3,'0004-store-requests-for-api-keys','67efe5c4d1f4befe30f01ddd2a4e55a1be8ecd2d1cf7556f2ef87976a362379d');
INSERT INTO schema_migrations VALUES('service',4,'0005-bind-api-keys-to-devices','30bfb6ed2ebc3fe0d03e0b6a6fa1de46695a18e71fffa1f34023b3172e006d8a');
INSERT INTO schema_migrations VALUES('service',5,'0006-create-console-sessions','18cbcce4f654709f76142f01823e7254556d46044a75f772916de422669c7748');
INSERT INTO schema_migrations VALUES('service',6,'0007-share-the-database','f46404f5a6846fb0bfb65261cca2ad9f01ef4235cb482a33a790b194e3cda31b');
CREATE TABLE store_counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO store_counters VALUES('outbox.sequence',0);
INSERT INTO store_counters VALUES('outbox.pending',0);
CREATE TABLE store_idempotency (
  principal TEXT NOT NULL, method TEXT NOT NULL, request_id TEXT NOT NULL,
  request_hash BYTEA NOT NULL, reply BYTEA NOT NULL, expires_at_ms BIGINT NOT NULL,
  PRIMARY KEY (principal, method, request_id));
INSERT INTO store_idempotency VALUES('user/ada','campanile.rpc.v1.EchoService/Echo','k1',X'010203',X'017b227061796c6f6164223a22612031227d',1770086411000);
INSERT INTO store_idempotency VALUES('user/ada','campanile.rpc.v1.EchoService/Echo','k2',X'010203',X'03',1770086411000);
CREATE TABLE store_outbox (
  sequence BIGINT NOT NULL PRIMARY KEY, message_id TEXT NOT NULL, topic TEXT NOT NULL, message_key TEXT NOT NULL,
  payload BYTEA NOT NULL, created_at_ms BIGINT NOT NULL, attempts BIGINT NOT NULL DEFAULT 0,
  next_attempt_at_ms BIGINT NOT NULL, is_dead BIGINT NOT NULL DEFAULT 0, last_error TEXT, trace TEXT);
CREATE TABLE store_inbox (
  source TEXT NOT NULL, message_id TEXT NOT NULL, seen_at_ms BIGINT NOT NULL,
  PRIMARY KEY (source, message_id));
CREATE TABLE api_keys (
  id TEXT NOT NULL PRIMARY KEY, digest BYTEA NOT NULL UNIQUE, principal TEXT NOT NULL, scopes TEXT NOT NULL,
  description TEXT NOT NULL, created_at_ms BIGINT NOT NULL, expires_at_ms BIGINT, revoked_at_ms BIGINT,
  last_used_at_ms BIGINT, lifetime_ms BIGINT, device_id TEXT NOT NULL DEFAULT '');
INSERT INTO api_keys VALUES('k_x2apVmtNJ7w8',X'cf37c2f02d9609e3ab7d166100b8811207d033c2212ce2c18fba593930afcce1','user/ada','echo:read attendance','Café active',1770000001000,NULL,NULL,1770000006000,NULL,'watch');
INSERT INTO api_keys VALUES('k_pVb6TYBlJiBI',X'c2cedcec14b6b45e25c7927d9c297ae5208e9f657205136ab82e90c3aad635ec','user/ada','echo:read attendance','Café expired',1770000002000,1770000022000,NULL,NULL,20000,'watch');
INSERT INTO api_keys VALUES('k_oQDG5QFhJLG6',X'6a332aac8dd50738ff93a9488aff9b2c91984a96f36a201df158010778dab268','user/ada','echo:read attendance','Café revoked',1770000003000,NULL,1770000005000,NULL,NULL,'watch');
INSERT INTO api_keys VALUES('k_d1bk93wSSM-j',X'83e04e5dad8c19e56f816d9447902661fcc8b135476de6b5fafda0a6b96da680','service/importer','echo:read attendance','Café rotated',1770000004000,1770086404000,NULL,NULL,86400000,'');
INSERT INTO api_keys VALUES('k_6_oabWfTm0Hg',X'11069f926622f90aa555d7c6f1c03890f268709852413589a554a343b1e48564','service/importer','echo:read attendance','Café rotated',1770000005000,1770086405000,NULL,NULL,86400000,'');
INSERT INTO api_keys VALUES('k_xne3iDHFhk4V',X'e264771d5a49536149be2ef6bc218df594251924ed5a3b42fd77e97231cb9b24','service/importer','echo:read','nightly import',1770000006000,NULL,NULL,NULL,NULL,'');
CREATE TABLE api_key_requests (
  principal TEXT NOT NULL, method TEXT NOT NULL, request_id TEXT NOT NULL, request_hash BYTEA NOT NULL,
  reply BYTEA NOT NULL, expires_at_ms BIGINT NOT NULL, PRIMARY KEY (principal, method, request_id));
INSERT INTO api_key_requests VALUES('service/admin','campanile.gateway.v1.AccessService/CreateApiKey','r1',X'd8a68b1335308f4b0093d74a954b8088db4b3918246522f2a6d5e1f83135d183',X'7b226170694b6579223a7b226964223a226b5f786e653369444846686b3456222c227072696e636970616c223a22736572766963652f696d706f72746572222c2273636f706573223a5b226563686f3a72656164225d2c226465736372697074696f6e223a226e696768746c7920696d706f7274222c2263726561746554696d65223a22323032362d30322d30325430323a34303a30365a227d7d',1770086406000);
CREATE TABLE console_sessions (
  id TEXT NOT NULL PRIMARY KEY, digest BYTEA NOT NULL UNIQUE, principal TEXT NOT NULL, scopes TEXT NOT NULL,
  device_id TEXT NOT NULL, method BIGINT NOT NULL, key_id TEXT NOT NULL, lodge_member_id TEXT NOT NULL,
  lodge_secret BYTEA NOT NULL, created_at_ms BIGINT NOT NULL, ends_at_ms BIGINT NOT NULL,
  used_at_ms BIGINT NOT NULL, address TEXT NOT NULL, user_agent TEXT NOT NULL);
INSERT INTO console_sessions VALUES('s_1tUWKj8WnhzJN0m9',X'3d8c46457518d328e0ca44750bb558d4a13330e0c296638f7bad69bf9e789c49','user/ada','echo:read attendance','watch',2,'k_x2apVmtNJ7w8','',X'',1770000006000,1770086406000,1770000011000,'192.0.2.1','Browser/1');
INSERT INTO console_sessions VALUES('s_EqiSOKJf8BZCNbLi',X'f0ab66b1eaf1eb639f26fe03fe915801f00626e3f09733c78f53a56bf8940d93','user/lodge.m1','attendance:read attendance:write','',3,'','m1',X'7f4f5d0a94852622aa808698b5881a43b84bca5ddcfa90815952d43bdf677b5d',1770000006000,1770086406000,1770000006000,'192.0.2.2','');
CREATE TABLE audit_events (
  id INTEGER PRIMARY KEY, created_at_ms BIGINT NOT NULL, action BIGINT NOT NULL,
  principal TEXT NOT NULL, address TEXT NOT NULL, subject TEXT NOT NULL, method BIGINT NOT NULL,
  count BIGINT NOT NULL, reason TEXT NOT NULL);
INSERT INTO audit_events VALUES(1,1770000005000,8,'','','k_oQDG5QFhJLG6',0,1,'');
INSERT INTO audit_events VALUES(2,1770000005000,7,'','','k_d1bk93wSSM-j',0,1,'');
INSERT INTO audit_events VALUES(3,1770000006000,6,'','','k_xne3iDHFhk4V',0,1,'');
INSERT INTO audit_events VALUES(4,1770000006000,1,'user/ada','192.0.2.1','s_1tUWKj8WnhzJN0m9',2,1,'');
INSERT INTO audit_events VALUES(5,1770000006000,1,'user/lodge.m1','192.0.2.2','s_EqiSOKJf8BZCNbLi',3,1,'');
INSERT INTO audit_events VALUES(6,1770000006000,1,'user/lodge.m1','192.0.2.2','s_MZ16wFzUZBybkeY1',3,1,'');
INSERT INTO audit_events VALUES(7,1770000006000,3,'user/lodge.m1','','s_MZ16wFzUZBybkeY1',0,1,'');
INSERT INTO audit_events VALUES(8,1770000006000,2,'','192.0.2.3','',2,2,'CREDENTIAL_INVALID');
CREATE TABLE gateway_members (name TEXT NOT NULL PRIMARY KEY, until_ms BIGINT NOT NULL);
CREATE TABLE access_changes (revision BIGINT NOT NULL PRIMARY KEY, subject TEXT NOT NULL);
CREATE TABLE reply_claims (
  principal TEXT NOT NULL, method TEXT NOT NULL, request_id TEXT NOT NULL, request_hash BYTEA NOT NULL,
  owner TEXT NOT NULL, claim BIGINT NOT NULL, PRIMARY KEY (principal, method, request_id));
CREATE TABLE sign_in_links (
  digest BYTEA NOT NULL PRIMARY KEY, principal TEXT NOT NULL, scopes TEXT NOT NULL, device_id TEXT NOT NULL,
  method BIGINT NOT NULL, key_id TEXT NOT NULL, ends_at_ms BIGINT, created_at_ms BIGINT NOT NULL);
CREATE INDEX store_idempotency_expiry ON store_idempotency (expires_at_ms);
CREATE INDEX store_outbox_order ON store_outbox (is_dead, sequence);
CREATE INDEX store_outbox_key ON store_outbox (topic, message_key, is_dead, sequence);
CREATE INDEX store_outbox_waiting ON store_outbox (is_dead, next_attempt_at_ms);
CREATE INDEX store_inbox_age ON store_inbox (seen_at_ms);
CREATE INDEX api_keys_newest ON api_keys (created_at_ms DESC, id DESC);
CREATE INDEX api_keys_newest_active ON api_keys (created_at_ms DESC, id DESC) WHERE revoked_at_ms IS NULL;
CREATE INDEX api_keys_revoked ON api_keys (revoked_at_ms) WHERE revoked_at_ms IS NOT NULL;
CREATE INDEX api_keys_expiry ON api_keys (expires_at_ms) WHERE expires_at_ms IS NOT NULL;
CREATE INDEX replies_of_principal ON store_idempotency (principal, expires_at_ms);
CREATE INDEX api_key_requests_expiry ON api_key_requests (expires_at_ms);
CREATE INDEX audit_events_of_action ON audit_events (action, id);
CREATE INDEX audit_events_age ON audit_events (created_at_ms);
COMMIT;
PRAGMA application_id = 1128353104;
