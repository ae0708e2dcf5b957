import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  static let settingsSQL = "SELECT settings_json, settings_version FROM users WHERE user_id = $1"

  func settings(user: String) async throws -> UserSettings {
    try await readSingle { try settings(user: user, $0) }
  }

  func settings(user: String, _ transaction: ReadTransaction) throws -> UserSettings {
    let found = try transaction.queryOne(Self.settingsSQL, [.text(user)]) { row in
      var settings = UserSettings()
      if !row.isNull(0) {
        settings = try StoredJSON.message(UserSettings.self, row, 0, "settings_json")
      }
      settings.etag = Etag.text(version: try row.integer(1))
      return settings
    }
    if let found { return found }
    return UserSettings(etag: Etag.text(version: 0))
  }

  func updateSettings(_ change: UserSettings, fields: [SettingsField], user: String) async throws -> UserSettings {
    try await write { transaction in
      let found = try settings(user: user, transaction)
      guard change.etag.isEmpty || change.etag == found.etag else {
        throw RPCError.etagMismatch(field: "settings.etag", current: found.etag)
      }
      var settings = found
      for field in fields { field.copy(from: change, to: &settings) }
      guard settings != found else { return found }
      let nowMs = clockMs()
      let version = (Etag.version(found.etag) ?? 0) + 1
      settings.updateTime = ProtoTimestamp(millisecondsSince1970: nowMs)
      settings.etag = ""
      let json = settings.jsonString()
      settings.etag = Etag.text(version: version)
      try transaction.execute(
        """
        INSERT INTO users (user_id, bucket_count, notification_count, unread_count, compacted_through, settings_json,
          settings_version, has_quiet_hours)
        VALUES ($1, 0, 0, 0, 0, $2, $3, $4)
        ON CONFLICT (user_id) DO UPDATE SET settings_json = excluded.settings_json,
          settings_version = excluded.settings_version, has_quiet_hours = excluded.has_quiet_hours
        """,
        [
          .text(user), .text(json), .integer(version),
          .bool(settings.concernsQuietHours),
        ])
      notifier.changed(user)
      try hastenReleases(user: user, nowMs: nowMs, transaction)
      return settings
    }
  }
}
