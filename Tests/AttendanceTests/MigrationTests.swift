import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

@Suite(.onSQLite) struct MigrationTests {
  /// The names and values of the format before the migration 0003.
  private static let earlier = [
    ("\"givenName\":", "\"firstName\":"), ("\"familyName\":", "\"lastName\":"), (",\"office\":\"OFFICE_NONE\"", ""),
    ("\"lateConfirmation\":\"3600s\"", "\"lateConfirmationHours\":1"),
    ("\"lateConfirmation\":\"604800s\"", "\"lateConfirmationHours\":168"),
    (",\"checkInOpensBefore\":\"0s\"", ""), ("\"checkInOpensBefore\":\"7200s\"", "\"checkInOpensMinutesBefore\":120"),
    ("\"checkInClosesAfter\":\"14400s\"", "\"checkInClosesMinutesAfter\":240"),
  ]

  private static func downgraded(_ json: String) -> String {
    earlier.reduce(json) { $0.replacing($1.0, with: $1.1) }
  }

  /// Rewrites the stored settings and the audit log, with its hashes, in the earlier format.
  private func downgrade(_ component: AttendanceComponent) async throws {
    var rows = try await component.repository.auditRows(after: 0)
    var previous = AuditRow.origin
    for index in rows.indices {
      for path in [\AuditRow.oldJSON, \.newJSON] {
        rows[index][keyPath: path] = rows[index][keyPath: path].map {
          Array(Self.downgraded(String(decoding: $0, as: UTF8.self)).utf8)
        }
      }
      rows[index].valueDigest = try rows[index].digestOfValues()
      rows[index].hash = try rows[index].digest(after: previous)
      previous = rows[index].hash
    }
    let settings = Self.downgraded(try await component.repository.lodgeSettings().jsonString())
    #expect(!settings.contains("checkInOpens") && settings.contains("\"lateConfirmationHours\":1"))
    try await component.store.write { [rows] transaction in
      try transaction.execute("DELETE FROM audit")
      for row in rows { try transaction.execute(AuditRow.insertSQL, row.values) }
      try transaction.execute("UPDATE attendance_meta SET value = $1 WHERE name = 'settings'", [.text(settings)])
    }
  }

  /// Reverts the migrations from 0004 on in a closed database, and removes those with these names from its list.
  private func revert(_ fixture: Fixture, _ identifiers: String...) async throws {
    var configuration = StoreConfiguration(path: fixture.folder.file("attendance.sqlite"))
    configuration.durability = .normal
    let revert = Migration(
      "9999-revert",
      """
      ALTER TABLE attendance DROP COLUMN event_ms;
      ALTER TABLE members DROP COLUMN refused_notices;
      ALTER TABLE meetings DROP COLUMN reminded_start_ms;
      ALTER TABLE meetings DROP COLUMN absences_counted;
      DROP TABLE notice_jobs;
      DROP TABLE notice_buckets;
      DROP TABLE login_attempts;
      """)
    let store = try Store(configuration, migrations: AttendanceMigrations.all + [revert])
    try await store.write { transaction in
      for identifier in identifiers + ["0005-login-attempts", revert.identifier] {
        try transaction.execute("DELETE FROM schema_migrations WHERE identifier = $1", [.text(identifier)])
      }
    }
    await store.close()
  }

  /// A database from before the migration 0004 has records without an event time, and settings without new fields.
  @Test func recordsWithoutAnEventTimeHaveTheirUpdateTime() async throws {
    let fixture = try Fixture()
    var record = Attendance()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      record = try await component.record(
        anna, component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed), .present)
      let settings = try await component.repository.lodgeSettings()
      var earlier = settings
      (earlier.language, earlier.exportRole, earlier.notices) = (.unspecified, .unspecified, nil)
      earlier.lateConfirmation = .init(seconds: 7 * 86_400)
      try await component.store.write { [earlier] transaction in
        try transaction.execute(SQLiteAttendanceRepository.putSettingsSQL, [.text(earlier.jsonString())])
      }
    }
    try await revert(fixture, "0004-event-times-notices")
    fixture.clock.advance(by: .milliseconds(Fixture.hourMs))
    try await fixture.run { component in
      let settings = try await component.repository.lodgeSettings()
      #expect(settings.language == .english && settings.exportRole == .secretary && settings.notices?.isOn == false)
      // A period that was set, or that was the default then, is retained.
      #expect(settings.lateConfirmation == ProtoDuration(seconds: 604_800))
      let list = ListMemberAttendanceRequest(memberId: "m_1")
      #expect(try await component.attendance.listMemberAttendance(list, context: admin).attendances == [record])
      #expect(record.eventTime == record.updateTime)
      #expect(
        try await component.members.getMember(.init(memberId: "m_1"), context: admin).member?.refusedNotices == [])
      #expect(try await component.verify().intact)
    }
  }

  @Test func earlierDatabaseKeepsItsSettingsAndItsAuditLog() async throws {
    let fixture = try Fixture()
    var before: [AuditEntry] = []
    var settings: LodgeSettings?
    let create = CreateMemberRequest(
      member: Member(name: "Anna Rossi", givenName: "Anna", familyName: "\"lastName\":", office: .orator),
      requestId: "r1")
    try await fixture.run { component in
      let anna = try #require(try await component.members.createMember(create, context: admin).member)
      let bruno = try await component.makeMember("Bruno")
      for member in [anna, bruno] {
        _ = try await component.members.deactivateMember(.init(memberId: member.id), context: admin)
      }
      let change = LodgeSettings(lateConfirmation: .init(seconds: 3_600), checkInOpensBefore: .init())
      settings = try await component.lodge.updateLodgeSettings(.init(settings: change), context: admin).settings
      before = try await component.lodge.listAuditEntries(.init(), context: admin).entries
      try await downgrade(component)
      #expect(try await component.verify().intact)
    }
    try await revert(fixture, "0003-durations-in-settings", "0004-event-times-notices")
    try await fixture.run { component in
      #expect(try await component.repository.lodgeSettings() == settings)
      // The values are read with the current names; the stored texts, and therefore the hashes, are unchanged.
      var after = try await component.lodge.listAuditEntries(.init(), context: admin).entries
      #expect(zip(after, before).contains { $0.hashField != $1.hashField })
      for index in after.indices { after[index].hashField = before[index].hashField }
      #expect(after == before)
      #expect(try await component.verify().intact)
      for sequence: Int64 in [3, 4] {
        _ = try await component.lodge.undoChange(.init(sequence: sequence), context: admin)
      }
      let members = try await component.members.listMembers(.init(), context: admin).members
      #expect(members.map(\.givenName) == ["Anna", ""] && members.map(\.familyName) == ["\"lastName\":", ""])
      #expect(members.map(\.office) == [.orator, .noneValue] && members.allSatisfy(\.active))
      #expect(try await component.verify().intact)
      // Stored replies have the earlier format and are gone.
      #expect(
        await refusal { try await component.members.createMember(create, context: admin) }
          == "ALREADY_EXISTS NAME_TAKEN")
    }
  }
}
