import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

/// A component with a new database and a clock that the test controls. The clock starts at 2026-02-02T02:40:00Z.
final class Fixture: Sendable {
  static let hourMs: Int64 = 3_600_000
  static let dayMs: Int64 = 24 * hourMs

  let folder: TemporaryFolder
  let clock = TestClock()
  let limits: AttendanceLimits
  let lifetime: SessionLifetime
  let timeZone: String
  let notices: (any NoticeSending)?
  let widgets: (any WidgetReloading)?

  init(
    _ limits: AttendanceLimits = AttendanceLimits(), lifetime: SessionLifetime = SessionLifetime(),
    timeZone: String = "Europe/Rome", notices: (any NoticeSending)? = nil, widgets: (any WidgetReloading)? = nil
  ) throws {
    self.limits = limits
    self.lifetime = lifetime
    self.timeZone = timeZone
    self.notices = notices
    self.widgets = widgets
    folder = try TemporaryFolder()
  }

  func open(_ limits: AttendanceLimits? = nil) async throws -> AttendanceComponent {
    try await AttendanceComponent(
      store: try TestStore.configuration(folder.file("attendance.sqlite")), limits: limits ?? self.limits,
      lifetime: lifetime, timeZone: timeZone,
      // The cheapest cost, because the tests do not depend on it.
      pinCost: ScryptCost(costLog2: 1, blockSize: 1, parallelization: 1), notices: notices,
      widgets: widgets, nowMs: { self.clock.nowMs })
  }

  /// Opens the component, runs `body` and closes it.
  func run(_ body: (AttendanceComponent) async throws -> Void) async throws {
    let component = try await open()
    do {
      try await body(component)
    } catch {
      await component.close()
      throw error
    }
    await component.close()
  }
}

func session(_ token: String, address: String = "") -> CallContext {
  CallContext(method: anyMethod, metadata: ["attendance-session": token], remoteAddress: address)
}

extension AttendanceComponent {
  var repository: any AttendanceRepository { members.repository }

  func makeMember(
    _ name: String, initiation: String = "", role: MemberRole = .member, user: String = "", pin: String = ""
  ) async throws -> Member {
    let member = Member(name: name, initiationDate: initiation, role: role, userId: user)
    let made = try #require(try await members.createMember(.init(member: member), context: admin).member)
    if !pin.isEmpty {
      _ = try await members.setMemberPin(.init(memberId: made.id, pin: pin), context: admin)
    }
    return made
  }

  func makeMeeting(
    atMs startMs: Int64, _ status: MeetingStatus = .scheduled, _ discussion: String = "The pillars"
  ) async throws -> Meeting {
    let meeting = Meeting(
      startTime: ProtoTimestamp(millisecondsSince1970: startMs), discussion: discussion, status: status)
    return try #require(try await meetings.createMeeting(.init(meeting: meeting), context: admin).meeting)
  }

  func setStatus(_ meeting: Meeting, _ status: MeetingStatus) async throws {
    let change = Meeting(id: meeting.id, status: status)
    _ = try await meetings.updateMeeting(.init(meeting: change), context: admin)
  }

  @discardableResult
  func record(
    _ member: Member, _ meeting: Meeting, _ status: AttendanceStatus, _ context: CallContext = admin,
    requestID: String = ""
  ) async throws -> Attendance {
    try #require(
      try await attendance.recordAttendance(
        .init(memberId: member.id, meetingId: meeting.id, status: status, requestId: requestID), context: context
      ).attendance)
  }

  func figures(
    _ member: Member, year: Int32 = 0, asOf: String = "", _ context: CallContext = admin
  ) async throws -> AttendanceStatistics {
    try #require(
      try await statistics.getMemberStatistics(.init(memberId: member.id, year: year, asOfDate: asOf), context: context)
        .statistics)
  }

  func login(_ name: String, _ pin: String, _ context: CallContext = nobody) async throws -> LoginResponse {
    try await sessions.login(.init(name: name, pin: pin), context: context)
  }

  func importCsv(
    _ table: CsvTable, _ text: String, isDryRun: Bool = false, requestID: String = ""
  ) async throws -> ImportCsvResponse {
    try await importCsv(table, Array(text.utf8), isDryRun: isDryRun, requestID: requestID)
  }

  func importCsv(
    _ table: CsvTable, _ bytes: [UInt8], isDryRun: Bool = false, requestID: String = ""
  ) async throws -> ImportCsvResponse {
    var file = ImportFile(limits: lodge.limits)
    try file.take(
      .init(content: .header(ImportCsvRequest.ImportHeader(table: table, dryRun: isDryRun, requestId: requestID))))
    for start in stride(from: 0, to: bytes.count, by: 1_000) {
      try file.take(.init(content: .chunk(Array(bytes[start..<min(start + 1_000, bytes.count)]))))
    }
    return try await CsvImport(repository: repository, limits: lodge.limits).run(
      file, by: AttendanceCaller(name: "user/root", role: .admin, address: ""))
  }

  func exportCsv(_ table: CsvTable, year: Int64? = nil, _ format: CsvFormat = CsvFormat()) async throws -> String {
    var text = ""
    try await CsvExport(
      repository: repository, limits: lodge.limits,
      caller: AttendanceCaller(name: "user/root", role: .admin, address: ""), format: format
    ).run(table, year: year) { text += $0 }
    return text
  }

  /// The sequence of the last change.
  func lastSequence() async throws -> Int64 {
    let query = try PositionQuery(user: "", pageSize: 1, pageToken: "", scope: [], parts: 1, limits: lodge.limits)
    return try await repository.auditEntries(query, subject: nil).items.first?.sequence ?? 0
  }

  func verify(knownSequence: Int64 = 0, knownHash: String = "") async throws -> VerifyAuditLogResponse {
    var verifier = AuditVerifier(knownSequence: knownSequence, knownHash: knownHash)
    while verifier.fault == nil {
      let rows = try await repository.auditRows(after: verifier.lastSequence)
      if rows.isEmpty { break }
      for row in rows where try verifier.take(row) {}
    }
    verifier.finish()
    return verifier.response(isFinished: true)
  }
}
