PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
  component TEXT NOT NULL, position BIGINT NOT NULL, identifier TEXT NOT NULL, checksum TEXT NOT NULL,
  PRIMARY KEY (component, position));
INSERT INTO schema_migrations VALUES('store',0,'store-0001-idempotency-outbox-inbox','5938fc92f93b782044ab0e17b309ab4e1cd075d407dcdd6841264350279fcf3f');
INSERT INTO schema_migrations VALUES('store',1,'store-0002-outbox-trace','57c720fe780ac66a804f1277853438192275c70d2ea831abfecac605454fc8f5');
INSERT INTO schema_migrations VALUES('service',0,'0001-buckets-notifications-changes','0ef38d3f99e872143527ccf22f1f60b3e5a617b5b5114a9abf8cc1211f5e3ef7');
INSERT INTO schema_migrations VALUES('service',1,'0002-shares-schedules-deliveries','1b4009da3b72f3e2f721efe4135de3336866ed75c38ed4db2852a5b32f71d5e4');
INSERT INTO schema_migrations VALUES('service',2,'0003-search-retention','e507987d460660af5cd6b10966eec5900d7e20d08b2a183c55312a1fcf28cb32');
INSERT INTO schema_migrations VALUES('service',3,'0004-search-words','ec5413655088edc0ce13c71b99f1c7e8097c4f4b9c095c4a0d4205ff9a92cee0');
INSERT INTO schema_migrations VALUES('service',4,'0005-change-traces','e163270a67f41a3e648855e3152b06d55d1e6bf01157debf68d6339710acd0cb');
INSERT INTO schema_migrations VALUES('service',5,'0006-search-by-user','8f66a69e7cd2ad59354444b02369367e7563442b8064614d7499f049958ece59');
INSERT INTO schema_migrations VALUES('service',6,'0007-invitations','48ec1461604f9410557b6c1ee5e0b3b2bdee91d8584a408d0b368c9269221ea8');
INSERT INTO schema_migrations VALUES('service',7,'0008-bucket-settings','0631e1a34025bbb9854b3e4b73e76dc80c5f7cc4b92310d66c7d42438e560900');
INSERT INTO schema_migrations VALUES('service',8,'0009-stored-names','92d1ce27d88b2f057809db31548eb5dcca5e1ba6b138fb0d3e92ac930433f48c');
INSERT INTO schema_migrations VALUES('service',9,'0010-engagement','86ad566aeb455e98b7fd39e7f84e2ed949cb2df655e265712d8547fe15d0d5cb');
CREATE TABLE store_counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
INSERT INTO store_counters VALUES('outbox.sequence',13);
INSERT INTO store_counters VALUES('outbox.pending',2);
CREATE TABLE store_idempotency (
  principal TEXT NOT NULL, method TEXT NOT NULL, request_id TEXT NOT NULL,
  request_hash BYTEA NOT NULL, reply BYTEA NOT NULL, expires_at_ms BIGINT NOT NULL,
  PRIMARY KEY (principal, method, request_id));
CREATE TABLE store_outbox (
  sequence BIGINT NOT NULL PRIMARY KEY, message_id TEXT NOT NULL, topic TEXT NOT NULL, message_key TEXT NOT NULL,
  payload BYTEA NOT NULL, created_at_ms BIGINT NOT NULL, attempts BIGINT NOT NULL DEFAULT 0,
  next_attempt_at_ms BIGINT NOT NULL, is_dead BIGINT NOT NULL DEFAULT 0, last_error TEXT, trace TEXT);
INSERT INTO store_outbox VALUES(12,'cafa84fa8bc0ebdaa2a8f9e895b57ec0','unread-summary','anna',X'',1770000005000,0,1770000005000,0,NULL,NULL);
INSERT INTO store_outbox VALUES(13,'47c3232a7187b9d3a89f214be1f72dac','unread-summary','bruno',X'',1770000005000,0,1770000005000,0,NULL,NULL);
CREATE TABLE store_inbox (
  source TEXT NOT NULL, message_id TEXT NOT NULL, seen_at_ms BIGINT NOT NULL,
  PRIMARY KEY (source, message_id));
CREATE TABLE notifications_meta (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO notifications_meta VALUES('log.epoch','cca18f3e9d85e1a8');
INSERT INTO notifications_meta VALUES('receipt.key','f22119ea1a0811cd0056ea6406cf398fba2712abfc69dae242f590b575afe230');
CREATE TABLE users (
  user_id TEXT NOT NULL PRIMARY KEY, bucket_count BIGINT NOT NULL, notification_count BIGINT NOT NULL,
  unread_count BIGINT NOT NULL, compacted_through BIGINT NOT NULL, settings_json TEXT, settings_version BIGINT NOT NULL DEFAULT 0, has_quiet_hours BIGINT NOT NULL DEFAULT 0, deleted_count BIGINT NOT NULL DEFAULT 0, scheduled_count BIGINT NOT NULL DEFAULT 0, shared_bucket_count BIGINT NOT NULL DEFAULT 0 CHECK (shared_bucket_count >= 0),
  CHECK (bucket_count >= 0), CHECK (unread_count >= 0), CHECK (notification_count >= unread_count));
INSERT INTO users VALUES('anna',2,3,2,0,NULL,0,0,1,0,0);
INSERT INTO users VALUES('bruno',0,2,1,0,NULL,0,0,0,0,1);
CREATE TABLE buckets (
  user_id TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, description TEXT, color TEXT, icon_url TEXT,
  is_orphan BIGINT NOT NULL, created_at_ms BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL,
  version BIGINT NOT NULL, notification_count BIGINT NOT NULL, unread_count BIGINT NOT NULL, owner_id TEXT NOT NULL DEFAULT '', role BIGINT NOT NULL DEFAULT 4, share_expires_at_ms BIGINT, share_count BIGINT NOT NULL DEFAULT 0, is_muted BIGINT NOT NULL DEFAULT 0, snoozed_until_ms BIGINT, quiet_hours_json TEXT, max_age_days BIGINT NOT NULL DEFAULT 0, max_count BIGINT NOT NULL DEFAULT 0, deleted_at_ms BIGINT, settings_version BIGINT NOT NULL DEFAULT 1, settings_updated_at_ms BIGINT, after_read_ms BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, id),
  CHECK (unread_count >= 0), CHECK (notification_count >= unread_count));
INSERT INTO buckets VALUES('anna','b_01kge3h900rr0d85nanw9h','Home',NULL,NULL,NULL,0,1770000000000,1770000000000,1,2,1,'',4,NULL,1,0,NULL,NULL,0,0,NULL,1,NULL,0);
INSERT INTO buckets VALUES('anna','b_01kge3h900rr0d85natw09','Work',NULL,NULL,NULL,0,1770000000000,1770000000000,2,1,1,'',4,NULL,0,0,1770003600000,NULL,0,0,NULL,2,1770000000000,0);
INSERT INTO buckets VALUES('bruno','b_01kge3h900rr0d85nanw9h','Home',NULL,NULL,NULL,0,1770000000000,1770000000000,1,2,1,'anna',1,NULL,0,0,NULL,NULL,0,0,NULL,1,NULL,0);
CREATE TABLE notifications (
  user_id TEXT NOT NULL, id TEXT NOT NULL, bucket_id TEXT NOT NULL, title TEXT NOT NULL, subtitle TEXT, body TEXT,
  priority BIGINT NOT NULL, content_json TEXT, created_at_ms BIGINT NOT NULL, updated_at_ms BIGINT NOT NULL,
  read_at_ms BIGINT, sent_at_ms BIGINT, version BIGINT NOT NULL, expires_at_ms BIGINT, collapse_key TEXT, delivery_state BIGINT NOT NULL DEFAULT 3, release_at_ms BIGINT, repeat_json TEXT, send_count BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, id));
INSERT INTO notifications VALUES('anna','n_01kge3h900rr0d85nbx34d','b_01kge3h900rr0d85nanw9h','Café öffnet',NULL,NULL,2,NULL,1770000000000,1770000000000,1770000000000,1770000000000,2,NULL,NULL,3,NULL,NULL,1);
INSERT INTO notifications VALUES('bruno','n_01kge3h900rr0d85nbx34d','b_01kge3h900rr0d85nanw9h','Café öffnet',NULL,NULL,2,NULL,1770000000000,1770000000000,1770000000000,1770000000000,2,NULL,NULL,3,NULL,NULL,1);
INSERT INTO notifications VALUES('anna','n_01kge3h900rr0d85ncw7b4','b_01kge3h900rr0d85natw09','Disk','of the server',replace('It is\nfull: 100 %','\n',char(10)),2,NULL,1770000000000,1770000000000,NULL,1770000000000,1,NULL,NULL,3,NULL,NULL,1);
INSERT INTO notifications VALUES('anna','n_01kge3hdw8fncsxxzhgtc2','b_01kge3h900rr0d85nanw9h','After Disk',NULL,NULL,2,NULL,1770000005000,1770000005000,NULL,1770000005000,1,NULL,NULL,3,NULL,NULL,1);
INSERT INTO notifications VALUES('bruno','n_01kge3hdw8fncsxxzhgtc2','b_01kge3h900rr0d85nanw9h','After Disk',NULL,NULL,2,NULL,1770000005000,1770000005000,NULL,1770000005000,1,NULL,NULL,3,NULL,NULL,1);
CREATE TABLE changes (
  sequence BIGINT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, kind BIGINT NOT NULL, bucket_id TEXT NOT NULL,
  notification_id TEXT NOT NULL, previous_bucket_id TEXT, at_ms BIGINT NOT NULL, is_alert BIGINT NOT NULL DEFAULT 0, trace TEXT);
INSERT INTO changes VALUES(1,'anna',4,'b_01kge3h900rr0d85nanw9h','',NULL,1770000000000,0,NULL);
INSERT INTO changes VALUES(2,'anna',4,'b_01kge3h900rr0d85natw09','',NULL,1770000000000,0,NULL);
INSERT INTO changes VALUES(3,'bruno',4,'b_01kge3h900rr0d85nanw9h','',NULL,1770000000000,0,NULL);
INSERT INTO changes VALUES(4,'anna',1,'b_01kge3h900rr0d85nanw9h','n_01kge3h900rr0d85nbx34d',NULL,1770000000000,1,NULL);
INSERT INTO changes VALUES(5,'bruno',1,'b_01kge3h900rr0d85nanw9h','n_01kge3h900rr0d85nbx34d',NULL,1770000000000,1,NULL);
INSERT INTO changes VALUES(6,'anna',1,'b_01kge3h900rr0d85natw09','n_01kge3h900rr0d85ncw7b4',NULL,1770000000000,1,NULL);
INSERT INTO changes VALUES(7,'anna',1,'b_01kge3h900rr0d85natw09','n_01kge3h900rr0d85nd483p',NULL,1770000000000,1,NULL);
INSERT INTO changes VALUES(8,'anna',2,'b_01kge3h900rr0d85nanw9h','n_01kge3h900rr0d85nbx34d',NULL,1770000000000,0,NULL);
INSERT INTO changes VALUES(9,'bruno',2,'b_01kge3h900rr0d85nanw9h','n_01kge3h900rr0d85nbx34d',NULL,1770000000000,0,NULL);
INSERT INTO changes VALUES(10,'anna',3,'b_01kge3h900rr0d85natw09','n_01kge3h900rr0d85nd483p',NULL,1770000000000,0,NULL);
INSERT INTO changes VALUES(11,'anna',5,'b_01kge3h900rr0d85natw09','',NULL,1770000000000,0,NULL);
INSERT INTO changes VALUES(12,'anna',1,'b_01kge3h900rr0d85nanw9h','n_01kge3hdw8fncsxxzhgtc2',NULL,1770000005000,1,NULL);
INSERT INTO changes VALUES(13,'bruno',1,'b_01kge3h900rr0d85nanw9h','n_01kge3hdw8fncsxxzhgtc2',NULL,1770000005000,1,NULL);
CREATE TABLE change_cursors (feed TEXT NOT NULL PRIMARY KEY, sequence BIGINT NOT NULL);
CREATE TABLE deleted_notifications (
  user_id TEXT NOT NULL, id TEXT NOT NULL, bucket_id TEXT NOT NULL, is_with_bucket BIGINT NOT NULL,
  deleted_at_ms BIGINT NOT NULL, payload BYTEA NOT NULL, PRIMARY KEY (user_id, id));
INSERT INTO deleted_notifications VALUES('anna','n_01kge3h900rr0d85nd483p','b_01kge3h900rr0d85natw09',0,1770000000000,X'7b226964223a226e5f30316b676533683930307272306438356e6434383370222c226275636b65744964223a22625f30316b676533683930307272306438356e6174773039222c227469746c65223a22676f6e65222c227072696f72697479223a225052494f524954595f4e4f524d414c222c2263726561746554696d65223a22323032362d30322d30325430323a34303a30305a222c2275706461746554696d65223a22323032362d30322d30325430323a34303a30305a222c2273656e6454696d65223a22323032362d30322d30325430323a34303a30305a222c2265746167223a227631222c2264656c69766572795374617465223a2244454c49564552595f53544154455f53454e54222c2273656e64436f756e74223a317d');
CREATE TABLE scheduled (
  user_id TEXT NOT NULL, id TEXT NOT NULL, deliver_at_ms BIGINT NOT NULL, payload BYTEA NOT NULL,
  PRIMARY KEY (user_id, id));
CREATE TABLE timers (
  user_id TEXT NOT NULL, subject_id TEXT NOT NULL, kind BIGINT NOT NULL, due_ms BIGINT NOT NULL,
  PRIMARY KEY (user_id, subject_id, kind));
CREATE TABLE contents (
  content_id TEXT NOT NULL PRIMARY KEY, data BYTEA NOT NULL);
CREATE TABLE content_refs (
  user_id TEXT NOT NULL, notification_id TEXT NOT NULL, content_id TEXT NOT NULL,
  PRIMARY KEY (user_id, notification_id, content_id));
CREATE TABLE deliveries (
  user_id TEXT NOT NULL, notification_id TEXT NOT NULL, at_ms BIGINT NOT NULL, device_id TEXT NOT NULL,
  outcome BIGINT NOT NULL, reason TEXT NOT NULL, release_at_ms BIGINT, push_id TEXT NOT NULL,
  PRIMARY KEY (user_id, notification_id, at_ms, device_id, outcome, push_id));
CREATE TABLE publish_keys (
  id TEXT NOT NULL PRIMARY KEY, owner_id TEXT NOT NULL, bucket_id TEXT NOT NULL, name TEXT NOT NULL,
  hint TEXT NOT NULL, secret_hash BYTEA NOT NULL, expires_at_ms BIGINT, created_at_ms BIGINT NOT NULL);
CREATE TABLE automation (
  user_id TEXT NOT NULL, kind BIGINT NOT NULL, id TEXT NOT NULL, payload BYTEA NOT NULL,
  PRIMARY KEY (user_id, kind, id));
INSERT INTO automation VALUES('anna',1,'t_01kge3h9001dsd825ncpc9',X'7b226964223a22745f30316b67653368393030316473643832356e63706339222c226e616d65223a2274222c227469746c65223a227b7b686f73747d7d20697320646f776e222c2263726561746554696d65223a22323032362d30322d30325430323a34303a30305a222c2275706461746554696d65223a22323032362d30322d30325430323a34303a30305a222c2265746167223a227631222c2272657175697265645661726961626c6573223a5b22686f7374225d7d');
CREATE TABLE action_runs (
  user_id TEXT NOT NULL, id TEXT NOT NULL, notification_id TEXT NOT NULL, created_at_ms BIGINT NOT NULL,
  payload BYTEA NOT NULL, PRIMARY KEY (user_id, id));
CREATE TABLE summaries (user_id TEXT NOT NULL PRIMARY KEY, content BYTEA NOT NULL);
CREATE TABLE search_documents (
  document_id INTEGER PRIMARY KEY, user_id TEXT NOT NULL, notification_id TEXT NOT NULL, bucket_id TEXT NOT NULL);
INSERT INTO search_documents VALUES(57999360000008192,'anna','n_01kge3h900rr0d85nbx34d','b_01kge3h900rr0d85nanw9h');
INSERT INTO search_documents VALUES(57999360000008200,'anna','n_01kge3h900rr0d85ncw7b4','b_01kge3h900rr0d85natw09');
INSERT INTO search_documents VALUES(57999360000008208,'bruno','n_01kge3h900rr0d85nbx34d','b_01kge3h900rr0d85nanw9h');
INSERT INTO search_documents VALUES(57999360163848192,'anna','n_01kge3hdw8fncsxxzhgtc2','b_01kge3h900rr0d85nanw9h');
INSERT INTO search_documents VALUES(57999360163848200,'bruno','n_01kge3hdw8fncsxxzhgtc2','b_01kge3h900rr0d85nanw9h');
CREATE TABLE search_state (
  id BIGINT NOT NULL PRIMARY KEY, sequence BIGINT NOT NULL, rebuild_user TEXT, rebuild_notification TEXT NOT NULL,
  bucket_position TEXT NOT NULL, CHECK (id = 1));
INSERT INTO search_state VALUES(1,13,NULL,'','');
CREATE TABLE maintenance_cursors (name TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, id TEXT NOT NULL);
CREATE TABLE search_words (word TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
INSERT INTO search_words VALUES('000001100');
INSERT INTO search_words VALUES('000001after');
INSERT INTO search_words VALUES('000001cafe');
INSERT INTO search_words VALUES('000001disk');
INSERT INTO search_words VALUES('000001full');
INSERT INTO search_words VALUES('000001is');
INSERT INTO search_words VALUES('000001it');
INSERT INTO search_words VALUES('000001of');
INSERT INTO search_words VALUES('000001offnet');
INSERT INTO search_words VALUES('000001server');
INSERT INTO search_words VALUES('000001the');
INSERT INTO search_words VALUES('000002after');
INSERT INTO search_words VALUES('000002cafe');
INSERT INTO search_words VALUES('000002disk');
INSERT INTO search_words VALUES('000002offnet');
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','search_batch','search_batch',0,'CREATE VIRTUAL TABLE search_batch USING fts5(
  text, tokenize = ''unicode61 remove_diacritics 2'', content = '''', columnsize = 0, detail = none)');
CREATE TABLE IF NOT EXISTS 'search_batch_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO search_batch_data VALUES(1,X'');
INSERT INTO search_batch_data VALUES(10,X'00000000000000');
CREATE TABLE IF NOT EXISTS 'search_batch_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS 'search_batch_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO search_batch_config VALUES('version',4);
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','search_batch_terms','search_batch_terms',0,'CREATE VIRTUAL TABLE search_batch_terms USING fts5vocab(search_batch, row)');
CREATE TABLE search_users (user_id TEXT NOT NULL PRIMARY KEY, number BIGINT NOT NULL);
INSERT INTO search_users VALUES('anna',1);
INSERT INTO search_users VALUES('bruno',2);
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','search_index','search_index',0,'CREATE VIRTUAL TABLE search_index USING fts5(
  title, subtitle, body, scope, tokenize = ''unicode61 remove_diacritics 2'', prefix = ''8 11'', columnsize = 0)');
CREATE TABLE IF NOT EXISTS 'search_index_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO search_index_data VALUES(1,X'0509030405');
INSERT INTO search_index_data VALUES(10,X'000000020102000002010101020101');
INSERT INTO search_index_data VALUES(137438953473,X'0000012f0c303030303030316166746572e783c3c5de90c0000202073162363235663330333136623637363533333638333933303330373237323330363433383335366536313665373733393638e783c3c59080c00006010302ce90800006010302070463616665e783c3c59080c000020207046469736be783c3c5de90c000020307066f66666e6574e783c3c59080c00002030009313030303030316166e783c3c5de90c000020207026236e783c3c59080c00006010302ce9080000601030207026361e783c3c59080c000020207026469e783c3c5de90c000020307026f66e783c3c59080c0000203000c323030303030316166746572e783c3c5de90c000020207056236323566e783c3c59080c00006010302ce9080000601030207056f66666e65e783c3c59080c000020304174710101215180e0e0e181b');
INSERT INTO search_index_data VALUES(274877906945,X'000002ab0a30303030303031313030e783c3c59080c00806010205073162363235663330333136623637363533333638333933303330373237323330363433383335366536313734373733303339e783c3c59080c0080601030207046469736be783c3c59080c0080202070466756c6ce783c3c59080c0080601020407026973e783c3c59080c00806010203080174e783c3c59080c0080601020207026f66e783c3c59080c008060101020706736572766572e783c3c59080c008060101040703746865e783c3c59080c008060101030606326166746572e783c3c5de90c0080202073162363235663330333136623637363533333638333933303330373237323330363433383335366536313665373733393638e783c3c59080c01006010302ce8fff7806010302070463616665e783c3c59080c010020207046469736be783c3c5de90c008020307066f66666e6574e783c3c59080c01002030009313030303030313130e783c3c59080c0080601020507026236e783c3c59080c0080601030207026469e783c3c59080c008020207026675e783c3c59080c0080601020407026973e783c3c59080c00806010203080174e783c3c59080c0080601020207026f66e783c3c59080c0080601010207027365e783c3c59080c0080601010407027468e783c3c59080c008060101030603326166e783c3c5de90c008020207026236e783c3c59080c01006010302ce8fff780601030207026361e783c3c59080c010020207026469e783c3c5de90c008020307026f66e783c3c59080c0100203000c323030303030316236323566e783c3c59080c0080601030207057365727665e783c3c59080c008060101040606326166746572e783c3c5de90c008020207056236323566e783c3c59080c01006010302ce8fff780601030207056f66666e65e783c3c59080c010020304173f1012100f101411124710101217100e10100f1010100f180e0e0e1a13121b');
CREATE TABLE IF NOT EXISTS 'search_index_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO search_index_idx VALUES(1,X'',2);
INSERT INTO search_index_idx VALUES(2,X'',2);
CREATE TABLE IF NOT EXISTS 'search_index_content'(id INTEGER PRIMARY KEY, c0, c1, c2, c3);
INSERT INTO search_index_content VALUES(57999360000008192,'000001Café 000001öffnet',NULL,NULL,'000001b625f30316b676533683930307272306438356e616e773968');
INSERT INTO search_index_content VALUES(57999360000008200,'000001Disk','000001of 000001the 000001server','000001It 000001is 000001full 000001100','000001b625f30316b676533683930307272306438356e6174773039');
INSERT INTO search_index_content VALUES(57999360000008208,'000002Café 000002öffnet',NULL,NULL,'000002b625f30316b676533683930307272306438356e616e773968');
INSERT INTO search_index_content VALUES(57999360163848192,'000001After 000001Disk',NULL,NULL,'000001b625f30316b676533683930307272306438356e616e773968');
INSERT INTO search_index_content VALUES(57999360163848200,'000002After 000002Disk',NULL,NULL,'000002b625f30316b676533683930307272306438356e616e773968');
CREATE TABLE IF NOT EXISTS 'search_index_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO search_index_config VALUES('automerge',0);
INSERT INTO search_index_config VALUES('crisismerge',64);
INSERT INTO search_index_config VALUES('version',4);
INSERT INTO sqlite_schema(type,name,tbl_name,rootpage,sql)VALUES('table','search_terms','search_terms',0,'CREATE VIRTUAL TABLE search_terms USING fts5vocab(search_index, instance)');
CREATE TABLE invitations (
  id TEXT NOT NULL PRIMARY KEY, owner_id TEXT NOT NULL, bucket_id TEXT NOT NULL, user_id TEXT NOT NULL,
  inviter_id TEXT NOT NULL, bucket_name TEXT NOT NULL, role BIGINT NOT NULL, share_expires_at_ms BIGINT,
  created_at_ms BIGINT NOT NULL, ends_at_ms BIGINT NOT NULL, state BIGINT NOT NULL, is_hidden BIGINT NOT NULL);
INSERT INTO invitations VALUES('i_01kge3h900rr0d85nb3ayg','anna','b_01kge3h900rr0d85nanw9h','bruno','anna','Home',1,NULL,1770000000000,1770000000000,2,0);
INSERT INTO invitations VALUES('i_01kge3h900rr0d85nb82dn','anna','b_01kge3h900rr0d85natw09','carla','anna','Work',1,NULL,1770000000000,1770604800000,1,0);
CREATE TABLE invite_codes (
  id TEXT NOT NULL PRIMARY KEY, owner_id TEXT NOT NULL, bucket_id TEXT NOT NULL, creator_id TEXT NOT NULL,
  role BIGINT NOT NULL, max_uses BIGINT NOT NULL, use_count BIGINT NOT NULL, hint TEXT NOT NULL,
  secret_hash BYTEA NOT NULL, created_at_ms BIGINT NOT NULL, expires_at_ms BIGINT NOT NULL);
CREATE TABLE blocked_users (
  user_id TEXT NOT NULL, blocked_id TEXT NOT NULL, created_at_ms BIGINT NOT NULL,
  PRIMARY KEY (user_id, blocked_id));
CREATE TABLE engagement (
  sequence BIGINT NOT NULL PRIMARY KEY, owner_id TEXT NOT NULL, bucket_id TEXT NOT NULL,
  notification_id TEXT NOT NULL, user_id TEXT NOT NULL, device_id TEXT NOT NULL, kind BIGINT NOT NULL,
  action_id TEXT NOT NULL, event_at_ms BIGINT NOT NULL, at_ms BIGINT NOT NULL);
CREATE TABLE engagement_counts (
  owner_id TEXT NOT NULL, bucket_id TEXT NOT NULL, notification_id TEXT NOT NULL, received_count BIGINT NOT NULL,
  opened_count BIGINT NOT NULL, dismissed_count BIGINT NOT NULL, acted_count BIGINT NOT NULL,
  updated_at_ms BIGINT NOT NULL, PRIMARY KEY (owner_id, bucket_id, notification_id));
CREATE TABLE engagement_log (
  id BIGINT NOT NULL PRIMARY KEY, last_sequence BIGINT NOT NULL, purged_through BIGINT NOT NULL);
INSERT INTO engagement_log VALUES(1,0,0);
CREATE INDEX store_idempotency_expiry ON store_idempotency (expires_at_ms);
CREATE INDEX store_outbox_order ON store_outbox (is_dead, sequence);
CREATE INDEX store_outbox_key ON store_outbox (topic, message_key, is_dead, sequence);
CREATE INDEX store_outbox_waiting ON store_outbox (is_dead, next_attempt_at_ms);
CREATE INDEX store_inbox_age ON store_inbox (seen_at_ms);
CREATE INDEX notifications_unread ON notifications (user_id, id) WHERE read_at_ms IS NULL;
CREATE INDEX changes_user ON changes (user_id, sequence);
CREATE INDEX buckets_name ON buckets (user_id, name, id) WHERE deleted_at_ms IS NULL;
CREATE INDEX buckets_deleted ON buckets (user_id, name, id) WHERE deleted_at_ms IS NOT NULL;
CREATE INDEX buckets_members ON buckets (id, user_id) WHERE owner_id <> '';
CREATE INDEX notifications_bucket ON notifications (user_id, bucket_id, id);
CREATE INDEX notifications_bucket_unread ON notifications (user_id, bucket_id, id) WHERE read_at_ms IS NULL;
CREATE INDEX notifications_bucket_read ON notifications (user_id, bucket_id, read_at_ms)
  WHERE read_at_ms IS NOT NULL;
CREATE INDEX notifications_collapse ON notifications (user_id, bucket_id, collapse_key)
  WHERE collapse_key IS NOT NULL;
CREATE INDEX deleted_notifications_time ON deleted_notifications (deleted_at_ms, user_id, id);
CREATE INDEX deleted_notifications_list ON deleted_notifications (user_id, deleted_at_ms, id)
  WHERE is_with_bucket = 0;
CREATE INDEX deleted_notifications_bucket ON deleted_notifications (user_id, bucket_id, id);
CREATE INDEX timers_due ON timers (due_ms, subject_id);
CREATE INDEX content_refs_content ON content_refs (content_id);
CREATE INDEX deliveries_time ON deliveries (at_ms);
CREATE INDEX publish_keys_bucket ON publish_keys (owner_id, bucket_id, id);
CREATE UNIQUE INDEX publish_keys_secret ON publish_keys (secret_hash);
CREATE INDEX action_runs_notification ON action_runs (user_id, notification_id, id);
CREATE INDEX action_runs_time ON action_runs (created_at_ms);
CREATE UNIQUE INDEX search_documents_notification ON search_documents (user_id, notification_id);
CREATE INDEX search_documents_bucket ON search_documents (user_id, bucket_id, notification_id);
CREATE INDEX buckets_deleted_time ON buckets (deleted_at_ms, user_id, id) WHERE deleted_at_ms IS NOT NULL;
CREATE UNIQUE INDEX search_users_number ON search_users (number);
CREATE UNIQUE INDEX invitations_bucket ON invitations (owner_id, bucket_id, user_id);
CREATE INDEX invitations_pair ON invitations (owner_id, user_id);
CREATE INDEX invitations_received ON invitations (user_id, id) WHERE state = 1 AND is_hidden = 0;
CREATE INDEX invitations_end ON invitations (ends_at_ms);
CREATE INDEX invite_codes_bucket ON invite_codes (owner_id, bucket_id, id);
CREATE UNIQUE INDEX invite_codes_secret ON invite_codes (secret_hash);
CREATE INDEX invite_codes_expiry ON invite_codes (expires_at_ms);
CREATE INDEX buckets_retention ON buckets (user_id, id) WHERE max_age_days > 0 OR max_count > 0 OR after_read_ms > 0;
CREATE UNIQUE INDEX engagement_report ON engagement (user_id, notification_id, kind, action_id, device_id);
CREATE INDEX engagement_bucket ON engagement (owner_id, bucket_id, sequence);
CREATE INDEX engagement_actions ON engagement (owner_id, bucket_id, notification_id, action_id, user_id)
  WHERE kind = 4;
CREATE INDEX engagement_time ON engagement (at_ms);
CREATE INDEX engagement_counts_time ON engagement_counts (updated_at_ms) WHERE notification_id <> '';
PRAGMA writable_schema=OFF;
COMMIT;
PRAGMA application_id = 1128353104;
