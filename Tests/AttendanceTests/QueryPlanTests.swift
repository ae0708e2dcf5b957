import CampanileStore
import ServiceTesting
import Testing

@testable import Attendance

@Suite(.onSQLite) struct QueryPlanTests {
  private typealias Repository = SQLiteAttendanceRepository

  /// No statement scans a table or sorts, and each list uses its intended index.
  @Test(arguments: [
    (MemberRow.oneSQL, "sqlite_autoindex_members_1"), (MemberRow.updateSQL, "sqlite_autoindex_members_1"),
    (MemberRow.byNameSQL, "members_name "), (MemberRow.byUserSQL, "members_user "),
    (MemberRow.activeSQL, "members_active "), (MemberRow.allSQL, "members_name "),
    (MemberRow.changedSQL, "members_sequence "), (MeetingRow.oneSQL, "sqlite_autoindex_meetings_1"),
    (MeetingRow.stateSQL, "sqlite_autoindex_meetings_1"), (MeetingRow.changedSQL, "meetings_sequence "),
    (MeetingRow.upcomingSQL, "meetings_status "), (MeetingRow.calendarSQL, "meetings_start "),
    (NoticeTable.reminderSQL, "meetings_status "), (NoticeTable.dueSQL, "notice_jobs_due "),
    (NoticeTable.dropSQL, "sqlite_autoindex_notice_jobs_1"),
    (NoticeTable.dropOthersSQL, "sqlite_autoindex_notice_jobs_1"),
    (NoticeTable.continueSQL, "sqlite_autoindex_notice_jobs_1"),
    (NoticeTable.membersSQL, "sqlite_autoindex_members_1"),
    (NoticeTable.marksSQL, "sqlite_autoindex_member_years_1"),
    (NoticeTable.bucketSQL, "sqlite_autoindex_notice_buckets_1"),
    (NoticeTable.dropBucketSQL, "sqlite_autoindex_notice_buckets_1"),
    (NoticeTable.remindedSQL, "sqlite_autoindex_meetings_1"), (NoticeTable.countedSQL, "sqlite_autoindex_meetings_1"),
    (AttendanceRow.eligibleSQL, "sqlite_autoindex_attendance_1"),
    (MeetingRow.listSQL(ofYear: false, ofStatus: false), "meetings_start "),
    (MeetingRow.listSQL(ofYear: true, ofStatus: false), "meetings_year "),
    (MeetingRow.listSQL(ofYear: false, ofStatus: true), "meetings_status "),
    (MeetingRow.listSQL(ofYear: true, ofStatus: true), "meetings_year_status "),
    (AttendanceRow.oneSQL, "sqlite_autoindex_attendance_1"), (AttendanceRow.deleteSQL, "sqlite_autoindex_attendance_1"),
    (AttendanceRow.ofMeetingSQL, "sqlite_autoindex_attendance_1"),
    (AttendanceRow.statusesSQL, "sqlite_autoindex_attendance_1"),
    (AttendanceRow.hasSQL, "sqlite_autoindex_attendance_1"), (AttendanceRow.changedSQL, "attendance_sequence "),
    (AttendanceRow.ofMemberSQL, "meetings_start "), (AttendanceRow.ofMemberAndYearSQL, "meetings_year "),
    (MeetingDeletion.attendanceSQL, "sqlite_autoindex_attendance_1"),
    (MeetingDeletion.checkInsSQL, "sqlite_autoindex_check_ins_1"),
    (MarkTable.oneSQL, "sqlite_autoindex_member_years_1"),
    (MarkTable.setSQL, "sqlite_autoindex_member_years_1"), (MarkTable.ofMemberSQL, "sqlite_autoindex_member_years_1"),
    (MarkTable.dropSQL, "sqlite_autoindex_member_years_1"),
    (Repository.sinceYearSQL, "sqlite_autoindex_member_years_1"), (MarkTable.completedSQL, "meetings_ordinal "),
    (MarkTable.statusesSQL, "sqlite_autoindex_attendance_1"),
    (MarkTable.dropYearSQL, "sqlite_autoindex_member_years_1"), (MarkTable.ordinalSQL, "meetings_"),
    (MarkTable.countSQL, "meetings_ordinal "), (MarkTable.throughSQL, "meetings_"),
    (MarkTable.makeRoomSQL, "meetings_ordinal "), (MarkTable.closeGapSQL, "meetings_ordinal "),
    (MemberState.selectSQL, "sqlite_autoindex_members_1"),
    (MemberState.withMeetingSQL, "sqlite_autoindex_meetings_1"), (Tombstones.afterSQL, "sqlite_autoindex_tombstones_1"),
    (Tombstones.dropSQL, "sqlite_autoindex_tombstones_1"),
    (SessionTable.callerSQL, "sqlite_autoindex_sessions_1"), (SessionTable.oneSQL, "sqlite_autoindex_sessions_1"),
    (SessionTable.ofMemberSQL, "sessions_member "), (SessionTable.revokeSQL, "sessions_member "),
    (SessionTable.surplusSQL, "sessions_member "), (SessionTable.purgeSQL, "sessions_expiry "),
    (LoginTable.oneSQL, "sqlite_autoindex_login_records_1"),
    (LoginTable.dropSQL, "sqlite_autoindex_login_records_1"), (LoginTable.lockedSQL, "login_records_locked"),
    (LoginTable.purgeUnknownSQL, "login_records_unknown "), (DeviceTable.memberSQL, "sqlite_autoindex_login_devices_1"),
    (DeviceTable.renewSQL, "sqlite_autoindex_login_devices_1"),
    (DeviceTable.countFailureSQL, "sqlite_autoindex_login_devices_1"),
    (DeviceTable.ofMemberSQL, "login_devices_member "), (DeviceTable.revokeSQL, "login_devices_member "),
    (DeviceTable.surplusSQL, "login_devices_member "), (DeviceTable.purgeSQL, "login_devices_last "),
    (AttemptTable.readSQL, "sqlite_autoindex_login_attempts_1"),
    (AttemptTable.dropSQL, "sqlite_autoindex_login_attempts_1"),
    (AttemptTable.dropSubjectSQL, "sqlite_autoindex_login_attempts_1"),
    (AttemptTable.purgeSQL, "login_attempts_end "), (AttemptTable.surplusSQL, "login_attempts_last "),
    (FeedTable.ofOwnerSQL, "calendar_feeds_owner "), (FeedTable.countSQL, "calendar_feeds_owner "),
    (FeedTable.bySecretSQL, "calendar_feeds_secret "),
    (AuditRow.oneSQL, "sqlite_autoindex_audit_1"), (AuditRow.listSQL, "sqlite_autoindex_audit_1"),
    (AuditRow.afterSQL, "sqlite_autoindex_audit_1"), (AuditRow.ofSubjectSQL, "audit_subject "),
    (AuditRow.redactSQL, "audit_subject "), (Repository.userSQL, "members_user "),
    (Repository.loginSQL, "members_name "),
    (Repository.summarySQL(ofYear: true, includesInactive: false), "members_active "),
    (Repository.summarySQL(ofYear: false, includesInactive: true), "members_name "),
    (Repository.upcomingSQL, "meetings_status "), (Repository.upcomingOfYearSQL, "meetings_year_status "),
    (Repository.beforeSQL, "meetings_"), (Repository.placeSQL, "meetings_ordinal "),
    (Repository.sinceYearSQL, "members_active "), (Repository.byStartSQL, "meetings_start "),
    (AttendanceRetention.dropCodesSQL, "check_ins_step "),
  ])
  func usesItsIndex(_ sql: String, _ index: String) async throws {
    let component = try await Fixture().open()
    try component.store.expectPlan(of: sql, uses: index)
    await component.close()
  }

  /// These statements read no more of an index than they return.
  @Test(arguments: [
    (AuditRow.lastSQL, "sqlite_autoindex_audit_1"), (Tombstones.oldestSQL, "sqlite_autoindex_tombstones_1"),
  ])
  func readsOnlyTheEndOfItsIndex(_ sql: String, _ index: String) async throws {
    let component = try await Fixture().open()
    let plan = try component.store.queryPlan(sql)
    #expect(sql.contains("ORDER BY sequence") && sql.contains("LIMIT"))
    #expect(plan.contains { $0.contains(index) }, "\(plan)")
    #expect(try component.store.fullScans(sql, allowingIndexScans: true) == [])
    await component.close()
  }
}
