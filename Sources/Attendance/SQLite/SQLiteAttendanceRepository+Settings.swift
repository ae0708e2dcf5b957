import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  static let putSettingsSQL = "UPDATE attendance_meta SET value = $1 WHERE name = 'settings'"
  static let startsSQL = "SELECT number, start_ms, day FROM meetings"
  static let moveDaySQL = """
    UPDATE meetings SET day = $2, year = $3, sequence = $4, updated_at_ms = $5, version = version + 1 WHERE number = $1
    """
  static let clearOrdinalsSQL = "UPDATE meetings SET ordinal = NULL WHERE ordinal IS NOT NULL"
  static let completedSQL = "SELECT number, year FROM meetings WHERE status = 2 ORDER BY year, start_ms, number"
  static let initiationsSQL = "SELECT number, initiation_day FROM members"

  func lodgeSettings() async throws -> LodgeSettings { try await readSingle { try $0.lodgeSettings() } }

  func updateSettings(
    _ change: LodgeSettings, fields: [LodgeField], by caller: AttendanceCaller
  ) async throws -> LodgeSettings {
    try await self.change(by: caller) { context in
      let found = try context.transaction.lodgeSettings()
      guard change.etag.isEmpty || change.etag == found.etag else {
        throw RPCError.etagMismatch(field: "settings.etag", current: found.etag)
      }
      var settings = found
      for field in fields { field.copy(from: change, to: &settings) }
      guard settings != found else { return found }
      if settings.notices != found.notices, settings.notices?.isOn == true, noticeSignal == nil {
        throw RPCError.refused(
          "settings.notices", "no notifications service is configured for this lodge", .noticesUnavailable)
      }
      // Another time before a meeting makes other reminders due.
      noticeSignal?.changed()
      settings.etag = Etag.text(version: (Etag.version(found.etag) ?? 0) + 1)
      try context.transaction.execute(Self.putSettingsSQL, [.text(settings.jsonString())])
      if settings.timeZone != found.timeZone { try Self.moveDays(settings.calendar(), context) }
      try context.audit("settings.update", "settings", old: .of(found), new: .of(settings))
      return settings
    }
  }

  /// Recomputes every meeting's day and year for another time zone, and recounts the statistics of years with a moved
  /// meeting.
  private static func moveDays(_ calendar: LodgeCalendar, _ context: WriteContext) throws {
    let transaction = context.transaction
    let meetings = try transaction.query(startsSQL, rowsMax: AttendanceLimits.objectsCeiling) { row in
      (number: try row.integer(0), startMs: try row.integer(1), day: try row.integer(2))
    }
    let moved = meetings.compactMap { meeting in
      let day = calendar.day(ofMs: meeting.startMs)
      return day == meeting.day ? nil : (number: meeting.number, from: meeting.day, to: day)
    }
    guard !moved.isEmpty else { return }
    let firstSequence = try context.sequences(moved.count)
    for (index, meeting) in moved.enumerated() {
      try transaction.execute(
        moveDaySQL,
        [
          .integer(meeting.number), .integer(meeting.to), .int(Days.year(meeting.to)),
          .integer(firstSequence + Int64(index)), .integer(context.nowMs),
        ])
    }
    try transaction.execute(clearOrdinalsSQL)
    let completed = try transaction.query(completedSQL, rowsMax: AttendanceLimits.objectsCeiling) { row in
      (number: try row.integer(0), year: try row.integer(1))
    }
    var (year, ordinal) = (Int64.min, 0)
    for meeting in completed {
      (year, ordinal) = meeting.year == year ? (year, ordinal + 1) : (meeting.year, 0)
      try transaction.execute(MarkTable.setOrdinalSQL, [.integer(meeting.number), .int(ordinal)])
    }
    let members = try transaction.query(initiationsSQL, rowsMax: AttendanceLimits.objectsCeiling) { row in
      (number: try row.integer(0), initiationDay: try row.integerIfPresent(1))
    }
    for year in Set(moved.flatMap { [Days.year($0.from), Days.year($0.to)] }).sorted() {
      try context.recount(year: Int64(year), of: members)
    }
    context.notifier.changedForAll()
  }
}
