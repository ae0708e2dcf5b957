PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
  component TEXT NOT NULL, position BIGINT NOT NULL, identifier TEXT NOT NULL, checksum TEXT NOT NULL,
  PRIMARY KEY (component, position));
INSERT INTO schema_migrations VALUES('store',0,'store-0001-idempotency-outbox-inbox','5938fc92f93b782044ab0e17b309ab4e1cd075d407dcdd6841264350279fcf3f');
INSERT INTO schema_migrations VALUES('store',1,'store-0002-outbox-trace','57c720fe780ac66a804f1277853438192275c70d2ea831abfecac605454fc8f5');
INSERT INTO schema_migrations VALUES('service',0,'0001-activities-tokens-changes','b05d7026b38fe08e8464a73baec6ac126234b94f2872483e80ffdc496d77dda6');
INSERT INTO schema_migrations VALUES('service',1,'0100-delivery','c22d4c09efc9f3d86b1412aa6f9543a1cdda4c6f81a18873dec2ea032221c9f3');
INSERT INTO schema_migrations VALUES('service',2,'0101-alert-reports','4cad6d869b8ffed6f096925d1dbb4d75c4adf8fcb000ec6ea7bacd75177e4d89');
INSERT INTO schema_migrations VALUES('service',3,'0102-contract','7691b0b57773c9704c94793590389beba6547ea63487364eadf01f112a423712');
INSERT INTO schema_migrations VALUES('service',4,'0103-groups','8b17db3fd05101c80644cea13e7aebcdd9da601fa4a0ddab2f85f60a36f8b00c');
INSERT INTO schema_migrations VALUES('service',5,'0104-push-filters','148be66cdb4dbcd3408fa77174dfcca7e728cee75bc9e50a881490bc68d925a3');
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
CREATE TABLE activities_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO activities_meta VALUES('log.epoch','a88db487e39370da');
CREATE TABLE users (
  user_id TEXT NOT NULL PRIMARY KEY, activity_count BIGINT NOT NULL, token_count BIGINT NOT NULL,
  compacted_through BIGINT NOT NULL, CHECK (activity_count >= 0), CHECK (token_count >= 0));
INSERT INTO users VALUES('anna',2,3,0);
INSERT INTO users VALUES('bruno',1,0,0);
CREATE TABLE activities (
  user_id TEXT NOT NULL, id TEXT NOT NULL, app TEXT NOT NULL, environment TEXT NOT NULL, status BIGINT NOT NULL,
  origin BIGINT NOT NULL, created_at_ms BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL, start_ms BIGINT NOT NULL,
  expire_ms BIGINT NOT NULL, scheduled_end_ms BIGINT, ended_at_ms BIGINT, end_reason BIGINT NOT NULL,
  stale_ms BIGINT, relevance_score DOUBLE PRECISION, aps_timestamp BIGINT NOT NULL, renews BIGINT NOT NULL,
  generation BIGINT NOT NULL, channel_id TEXT NOT NULL, token_ids TEXT NOT NULL, version BIGINT NOT NULL,
  driver_kind BIGINT NOT NULL, driver_subject TEXT NOT NULL, driver_json TEXT, content_state TEXT NOT NULL, group_id TEXT NOT NULL DEFAULT '', pushes_stopped BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, id));
INSERT INTO activities VALUES('anna','remote','com.example.growth','development',2,2,1770000000000,1770000000000,1770000000000,1770028800000,NULL,NULL,0,NULL,NULL,1770000000,0,0,'','',1,0,'',NULL,'{"n":0}','',0);
INSERT INTO activities VALUES('anna','local','com.example.growth','development',3,1,1770000000000,1770000002000,1770000000000,1770028800000,NULL,NULL,0,NULL,NULL,1770000002,0,0,'','p_01kge3h9002m7d7e8caqtm',2,0,'',NULL,'{"n":1}','',0);
INSERT INTO activities VALUES('anna','ended','com.example.growth','development',4,1,1770000002000,1770000002000,1770000002000,1770028802000,NULL,1770000002000,1,NULL,NULL,1770000003,0,0,'','',2,0,'',NULL,'{"n":0}','',0);
INSERT INTO activities VALUES('bruno','timer','com.example.growth','development',3,1,1770000002000,1770000002000,1770000002000,1770028802000,NULL,NULL,0,1770028802000,100.0,1770000002,0,0,'','',1,1,'','{"startTime":"2026-02-02T02:40:02Z","totalPaused":"0s","duration":"60s","methodName":"Run","sessionType":"TIMER_SESSION_TYPE_COUNTDOWN","ranksByItself":true}','{"startedAt":791692802,"isPaused":false,"duration":60,"methodName":"Run","protocolName":"Run","sessionType":"countdown","totalPausedDuration":0,"spokenText":"Run, countdown of 1 minute, running"}','',0);
CREATE TABLE activity_starts (
  user_id TEXT NOT NULL, id TEXT NOT NULL, attributes_type TEXT NOT NULL, attributes TEXT, alert_json TEXT,
  installation_id TEXT NOT NULL, PRIMARY KEY (user_id, id));
INSERT INTO activity_starts VALUES('anna','remote','TimerActivityAttributes','{"methodId":"m1"}','{"title":"Title","body":"Body"}','');
CREATE TABLE scheduled_ends (
  user_id TEXT NOT NULL, id TEXT NOT NULL, request_json TEXT NOT NULL, PRIMARY KEY (user_id, id));
CREATE TABLE push_tokens (
  token_id TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, kind BIGINT NOT NULL, app TEXT NOT NULL,
  environment TEXT NOT NULL, installation_id TEXT NOT NULL, subject TEXT NOT NULL, generation BIGINT NOT NULL,
  token BYTEA NOT NULL, token_time_ms BIGINT NOT NULL, registered_at_ms BIGINT NOT NULL,
  used_at_ms BIGINT NOT NULL, state BIGINT NOT NULL, retired_at_ms BIGINT, retire_reason TEXT, os_version BIGINT, frequent_pushes BIGINT,
  UNIQUE (user_id, kind, app, subject, installation_id, generation));
INSERT INTO push_tokens VALUES('p_01kge3h9002m7d7e89kjwz','anna',1,'com.example.growth','development','phone','',0,X'0000000000000000000000000000000000000000000000000000000000000001',1770000000000,1770000000000,1770000000000,1,NULL,NULL,NULL,NULL);
INSERT INTO push_tokens VALUES('p_01kge3h9002m7d7e8a693m','anna',3,'com.example.growth','development','phone','',0,X'0000000000000000000000000000000000000000000000000000000000000002',1770000000000,1770000000000,1770000000000,1,NULL,NULL,NULL,NULL);
INSERT INTO push_tokens VALUES('p_01kge3h9002m7d7e8caqtm','anna',2,'com.example.growth','development','phone','local',0,X'0000000000000000000000000000000000000000000000000000000000000003',1770000000000,1770000000000,1770000000000,1,NULL,NULL,NULL,NULL);
CREATE TABLE timers (
  user_id TEXT NOT NULL, subject_id TEXT NOT NULL, kind BIGINT NOT NULL, due_ms BIGINT NOT NULL,
  PRIMARY KEY (user_id, subject_id, kind));
INSERT INTO timers VALUES('anna','remote',3,1770028800000);
INSERT INTO timers VALUES('anna','local',3,1770028800000);
INSERT INTO timers VALUES('bruno','timer',3,1770028802000);
CREATE TABLE unread_summaries (
  user_id TEXT NOT NULL PRIMARY KEY, sequence BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL, payload BYTEA NOT NULL);
CREATE TABLE changes (
  sequence BIGINT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, kind BIGINT NOT NULL, activity_id TEXT NOT NULL,
  at_ms BIGINT NOT NULL);
INSERT INTO changes VALUES(1,'anna',1,'remote',1770000000000);
INSERT INTO changes VALUES(2,'anna',1,'local',1770000000000);
INSERT INTO changes VALUES(3,'anna',2,'local',1770000000000);
INSERT INTO changes VALUES(4,'anna',2,'local',1770000002000);
INSERT INTO changes VALUES(5,'anna',1,'ended',1770000002000);
INSERT INTO changes VALUES(6,'anna',3,'ended',1770000002000);
INSERT INTO changes VALUES(7,'bruno',1,'timer',1770000002000);
CREATE TABLE change_cursors (feed TEXT NOT NULL PRIMARY KEY, sequence BIGINT NOT NULL);
CREATE TABLE push_routes (
  id BIGINT NOT NULL PRIMARY KEY, app TEXT NOT NULL, environment TEXT NOT NULL, UNIQUE (app, environment));
INSERT INTO push_routes VALUES(1,'com.example.growth','development');
CREATE TABLE pushes (
  lane TEXT NOT NULL, apns_id TEXT NOT NULL, state BIGINT NOT NULL, route_id BIGINT NOT NULL, kind BIGINT NOT NULL,
  user_id TEXT NOT NULL, activity_id TEXT, target_kind BIGINT NOT NULL, target_id TEXT NOT NULL,
  push_type TEXT NOT NULL, priority BIGINT NOT NULL, payload BYTEA NOT NULL, expiration_ms BIGINT, collapse_id TEXT,
  trace_parent TEXT, due_ms BIGINT NOT NULL, queued_at_ms BIGINT NOT NULL, attempts BIGINT NOT NULL,
  is_renewed BIGINT NOT NULL, last_reason TEXT,
  PRIMARY KEY (lane, apns_id));
INSERT INTO pushes VALUES('t:p_01kge3h9002m7d7e8a693m','019c1c38-a400-7734-b9be-afae05c92000',0,1,1,'anna','remote',1,'p_01kge3h9002m7d7e8a693m','liveactivity',10,X'7b22617073223a7b2274696d657374616d70223a313737303030303030302c226576656e74223a227374617274222c22636f6e74656e742d7374617465223a7b226e223a307d2c22617474726962757465732d74797065223a2254696d6572416374697669747941747472696275746573222c2261747472696275746573223a7b226d6574686f644964223a226d31227d2c22696e7075742d707573682d746f6b656e223a312c22616c657274223a7b227469746c65223a225469746c65222c22626f6479223a22426f6479227d7d7d',1770003600000,NULL,NULL,1770000000000,1770000000000,0,0,NULL);
INSERT INTO pushes VALUES('a:p_01kge3h9002m7d7e8caqtm','019c1c38-abd0-7702-95b9-5ddcb8952000',0,1,2,'anna','local',1,'p_01kge3h9002m7d7e8caqtm','liveactivity',0,X'7b22617073223a7b2274696d657374616d70223a313737303030303030322c226576656e74223a22757064617465222c22636f6e74656e742d7374617465223a7b226e223a317d7d7d',0,NULL,NULL,1770000002000,1770000002000,0,0,NULL);
CREATE TABLE push_budgets (
  lane TEXT NOT NULL PRIMARY KEY, level_thousandths BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL);
CREATE TABLE push_ledger (
  apns_id TEXT NOT NULL PRIMARY KEY, route_id BIGINT NOT NULL, user_id TEXT NOT NULL, activity_id TEXT,
  kind BIGINT NOT NULL, push_type TEXT NOT NULL, priority BIGINT NOT NULL, outcome BIGINT NOT NULL,
  status BIGINT NOT NULL, reason TEXT NOT NULL, attempts BIGINT NOT NULL, queued_at_ms BIGINT NOT NULL,
  settled_at_ms BIGINT NOT NULL, latency_ms BIGINT NOT NULL, trace_parent TEXT, target_id TEXT);
CREATE TABLE dead_letters (
  apns_id TEXT NOT NULL PRIMARY KEY, lane TEXT NOT NULL, route_id BIGINT NOT NULL, kind BIGINT NOT NULL,
  user_id TEXT NOT NULL, activity_id TEXT, target_kind BIGINT NOT NULL, target_id TEXT NOT NULL,
  push_type TEXT NOT NULL, priority BIGINT NOT NULL, payload BYTEA NOT NULL, expiration_ms BIGINT, collapse_id TEXT,
  trace_parent TEXT, queued_at_ms BIGINT NOT NULL, attempts BIGINT NOT NULL, failed_at_ms BIGINT NOT NULL,
  status BIGINT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE push_statistics (
  app TEXT NOT NULL, hour_ms BIGINT NOT NULL, measure TEXT NOT NULL, count BIGINT NOT NULL,
  PRIMARY KEY (app, hour_ms, measure));
CREATE TABLE provider_tokens (
  team_id TEXT NOT NULL, key_id TEXT NOT NULL, token TEXT NOT NULL, issued_at_ms BIGINT NOT NULL,
  PRIMARY KEY (team_id, key_id));
CREATE TABLE revoked_keys (
  team_id TEXT NOT NULL, key_id TEXT NOT NULL, revoked_at_ms BIGINT NOT NULL, PRIMARY KEY (team_id, key_id));
CREATE TABLE push_channels (
  app TEXT NOT NULL, environment TEXT NOT NULL, channel_id TEXT NOT NULL, storage_policy BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL, PRIMARY KEY (app, environment, channel_id));
CREATE TABLE alert_reports (
  apns_id TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, notification_id TEXT NOT NULL, token_id TEXT NOT NULL,
  queued_at_ms BIGINT NOT NULL, settled_at_ms BIGINT, outcome BIGINT, reason TEXT);
CREATE INDEX store_idempotency_expiry ON store_idempotency (expires_at_ms);
CREATE INDEX store_outbox_order ON store_outbox (is_dead, sequence);
CREATE INDEX store_outbox_key ON store_outbox (topic, message_key, is_dead, sequence);
CREATE INDEX store_outbox_waiting ON store_outbox (is_dead, next_attempt_at_ms);
CREATE INDEX store_inbox_age ON store_inbox (seen_at_ms);
CREATE INDEX activities_list ON activities (user_id, created_at_ms, id);
CREATE INDEX activities_live ON activities (user_id, created_at_ms, id) WHERE ended_at_ms IS NULL;
CREATE INDEX activities_driver ON activities (user_id, driver_kind, app, driver_subject)
  WHERE ended_at_ms IS NULL AND driver_kind > 0;
CREATE INDEX activities_ended ON activities (ended_at_ms) WHERE ended_at_ms IS NOT NULL;
CREATE INDEX push_tokens_value ON push_tokens (token, app);
CREATE INDEX push_tokens_list ON push_tokens (user_id, token_id);
CREATE INDEX push_tokens_used ON push_tokens (used_at_ms);
CREATE INDEX push_tokens_retired ON push_tokens (retired_at_ms) WHERE retired_at_ms IS NOT NULL;
CREATE INDEX timers_due ON timers (due_ms, subject_id);
CREATE INDEX changes_user ON changes (user_id, sequence);
CREATE INDEX pushes_due ON pushes (route_id, due_ms, lane) WHERE state = 0;
CREATE INDEX pushes_id ON pushes (apns_id);
CREATE INDEX push_budgets_time ON push_budgets (updated_at_ms);
CREATE INDEX push_ledger_activity ON push_ledger (activity_id, apns_id) WHERE activity_id IS NOT NULL;
CREATE INDEX push_ledger_user ON push_ledger (user_id, apns_id);
CREATE INDEX dead_letters_lane ON dead_letters (lane, apns_id);
CREATE INDEX push_statistics_time ON push_statistics (hour_ms);
CREATE INDEX alert_reports_settled ON alert_reports (settled_at_ms, apns_id) WHERE settled_at_ms IS NOT NULL;
CREATE INDEX alert_reports_queued ON alert_reports (queued_at_ms);
CREATE INDEX activities_group ON activities (app, group_id, user_id, id)
  WHERE ended_at_ms IS NULL AND group_id <> '';
CREATE INDEX push_ledger_outcome ON push_ledger (outcome, apns_id) WHERE outcome <> 1;
CREATE INDEX push_ledger_reason ON push_ledger (reason, apns_id) WHERE reason <> '';
COMMIT;
PRAGMA application_id = 1128353104;
