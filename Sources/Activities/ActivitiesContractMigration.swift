import CampanileStore

extension ActivitiesMigrations {
  /// Converts stored messages to the fields of the first stable contract, and adds the values of installations.
  ///
  /// - `driver_json`: times and durations have new names and types, and the session type and phase are enums. A
  ///   completed timer loses its session type, which had been overwritten.
  /// - Alerts: `sound` is a message. States and attributes are texts.
  /// - Stored replies have the old fields: a request repeated across the upgrade runs again.
  static let contract = Migration(
    "0102-contract",
    """
    UPDATE activities SET driver_json = json_object(
        'startTime', json_extract(driver_json, '$.startedAt'),
        'pauseTime', json_extract(driver_json, '$.pausedAt'),
        'totalPaused', printf('%d.%03ds',
          coalesce(CAST(json_extract(driver_json, '$.totalPausedMs') AS INTEGER), 0) / 1000,
          coalesce(CAST(json_extract(driver_json, '$.totalPausedMs') AS INTEGER), 0) % 1000),
        'duration', CASE WHEN coalesce(CAST(json_extract(driver_json, '$.durationMs') AS INTEGER), 0) > 0
          THEN printf('%d.%03ds', CAST(json_extract(driver_json, '$.durationMs') AS INTEGER) / 1000,
            CAST(json_extract(driver_json, '$.durationMs') AS INTEGER) % 1000) END,
        'methodName', coalesce(json_extract(driver_json, '$.methodName'), ''),
        'sessionType', 'TIMER_SESSION_TYPE_' || CASE json_extract(driver_json, '$.sessionType')
          WHEN 'completed' THEN 'UNSPECIFIED' ELSE upper(json_extract(driver_json, '$.sessionType')) END,
        'completesByItself',
          json(CASE WHEN json_extract(driver_json, '$.completesByItself') THEN 'true' ELSE 'false' END))
      WHERE driver_kind = 1 AND driver_json IS NOT NULL;
    UPDATE activities SET driver_json = json_object(
        'roomId', json_extract(driver_json, '$.roomId'),
        'phase', 'ROOM_PHASE_' || upper(coalesce(json_extract(driver_json, '$.phase'), 'waiting')),
        'phaseStartTime', json_extract(driver_json, '$.lastUpdated'),
        'waitingLimit', CASE WHEN json_extract(driver_json, '$.waitingMinutesMax') > 0
          THEN printf('%ds', json_extract(driver_json, '$.waitingMinutesMax') * 60) END)
      WHERE driver_kind = 2 AND driver_json IS NOT NULL;

    UPDATE activity_starts SET alert_json =
        json_set(alert_json, '$.sound', json_object('name', json_extract(alert_json, '$.sound')))
      WHERE json_type(alert_json, '$.sound') = 'text';
    UPDATE scheduled_ends SET request_json =
        json_set(request_json, '$.alert.sound', json_object('name', json_extract(request_json, '$.alert.sound')))
      WHERE json_type(request_json, '$.alert.sound') = 'text';
    UPDATE scheduled_ends SET request_json =
        json_set(json_remove(request_json, '$.contentState'),
          '$.contentStateJson', '' || json_extract(request_json, '$.contentState'))
      WHERE json_type(request_json, '$.contentState') = 'object';

    UPDATE unread_summaries SET payload = CAST(
      replace(replace(CAST(payload AS TEXT), '"lastUpdate":', '"updateTime":'), '"createdAt":', '"createTime":')
      AS BLOB);

    \(installationColumns)

    DELETE FROM store_idempotency;
    """, postgreSQL: installationColumns)

  private static let installationColumns = """
    ALTER TABLE push_tokens ADD COLUMN os_version BIGINT;
    ALTER TABLE push_tokens ADD COLUMN frequent_pushes BIGINT;
    """
}
