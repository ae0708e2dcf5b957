import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import FoundationEssentials
import Synchronization
import Testing

@testable import Attendance

/// A component with a new database and a clock that the test controls. The clock starts at 2026-02-02T02:40:00Z.
final class Fixture: Sendable {
  static let hourMs: Int64 = 3_600_000
  static let dayMs: Int64 = 24 * hourMs

  let directory: URL
  let nowMs = Atomic<Int64>(1_770_000_000_000)
  let limits: AttendanceLimits
  let lifetime: SessionLifetime
  let timeZone: String

  init(
    _ limits: AttendanceLimits = AttendanceLimits(), lifetime: SessionLifetime = SessionLifetime(),
    timeZone: String = "Europe/Rome"
  ) throws {
    self.limits = limits
    self.lifetime = lifetime
    self.timeZone = timeZone
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("attendance-\(UUID().uuidString)")
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  var now: Int64 { nowMs.load(ordering: .relaxed) }
  func wait(_ ms: Int64) { nowMs.add(ms, ordering: .relaxed) }

  func open(_ limits: AttendanceLimits? = nil) async throws -> AttendanceComponent {
    var configuration = StoreConfiguration(path: directory.appendingPathComponent("attendance.sqlite").path)
    configuration.durability = .normal
    return try await AttendanceComponent(
      store: configuration, limits: limits ?? self.limits, lifetime: lifetime, timeZone: timeZone,
      // The cheapest cost, because the tests do not depend on it.
      pinCost: ScryptCost(costLog2: 1, blockSize: 1, parallelization: 1), nowMs: { self.now })
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

let anyMethod = MethodDescriptor(
  path: "campanile.attendance.v1.AttendanceService/Test", kind: .unary, idempotency: .unknown, requestType: "",
  responseType: "")

/// A principal with the scope `admin`.
let admin = CallContext(method: anyMethod, principal: Principal(kind: .user, id: "root", scopes: ["admin"]))
let nobody = CallContext(method: anyMethod)

/// A user of the gateway.
func user(_ id: String) -> CallContext {
  CallContext(method: anyMethod, principal: Principal(kind: .user, id: id))
}

func session(_ token: String, address: String = "") -> CallContext {
  CallContext(method: anyMethod, metadata: ["attendance-session": token], remoteAddress: address)
}

/// The error that `body` throws.
func failure<T>(_ body: () async throws -> T) async -> RPCError? {
  do {
    _ = try await body()
    return nil
  } catch let error as RPCError {
    return error
  } catch let error as any RPCErrorConvertible {
    return error.rpcError
  } catch {
    return RPCError(.internalError, "\(error)")
  }
}

/// Returns code and reason of the error that `body` throws, such as `NOT_FOUND MEMBER_NOT_FOUND`; empty if there is
/// none.
func refusal<T>(_ body: () async throws -> T) async -> String {
  await failure(body).map { "\($0.code.name) \($0.reason)" } ?? ""
}

extension AttendanceComponent {
  var repository: any AttendanceRepository { members.repository }

  func makeMember(
    _ name: String, initiation: String = "", role: MemberRole = .member, user: String = "", pin: String = ""
  ) async throws -> Member {
    let member = Member(name: name, initiationDate: initiation, role: role, userId: user)
    let made = try #require(
      try await members.createMember(.with { $0.member = member }, context: admin).member)
    if !pin.isEmpty {
      _ = try await members.setMemberPin(
        .with {
          $0.memberId = made.id
          $0.pin = pin
        }, context: admin)
    }
    return made
  }

  func makeMeeting(
    atMs startMs: Int64, _ status: MeetingStatus = .scheduled, _ discussion: String = "The pillars"
  ) async throws -> Meeting {
    let meeting = Meeting(
      startTime: ProtoTimestamp(millisecondsSince1970: startMs), discussion: discussion, status: status)
    return try #require(
      try await meetings.createMeeting(.with { $0.meeting = meeting }, context: admin).meeting)
  }

  func setStatus(_ meeting: Meeting, _ status: MeetingStatus) async throws {
    let change = Meeting(id: meeting.id, status: status)
    _ = try await meetings.updateMeeting(.with { $0.meeting = change }, context: admin)
  }

  @discardableResult
  func record(
    _ member: Member, _ meeting: Meeting, _ status: AttendanceStatus, _ context: CallContext = admin,
    requestID: String = ""
  ) async throws -> Attendance {
    try #require(
      try await attendance.recordAttendance(
        .with {
          $0.memberId = member.id
          $0.meetingId = meeting.id
          $0.status = status
          $0.requestId = requestID
        }, context: context
      ).attendance)
  }

  func figures(
    _ member: Member, year: Int32 = 0, asOf: String = "", _ context: CallContext = admin
  ) async throws -> AttendanceStatistics {
    try #require(
      try await statistics.getMemberStatistics(
        .with {
          $0.memberId = member.id
          $0.year = year
          $0.asOfDate = asOf
        }, context: context
      ).statistics)
  }

  func login(_ name: String, _ pin: String, _ context: CallContext = nobody) async throws -> LoginResponse {
    try await sessions.login(
      .with {
        $0.name = name
        $0.pin = pin
      }, context: context)
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
      .with {
        $0.content = .header(
          .with {
            $0.table = table
            $0.dryRun = isDryRun
            $0.requestId = requestID
          })
      })
    for start in stride(from: 0, to: bytes.count, by: 1_000) {
      try file.take(.with { $0.content = .chunk(Array(bytes[start..<min(start + 1_000, bytes.count)])) })
    }
    return try await CsvImport(repository: repository, limits: lodge.limits).run(
      file, by: AttendanceCaller(name: "user/root", role: .admin, address: ""))
  }

  func exportCsv(_ table: CsvTable, year: Int64? = nil) async throws -> String {
    var text = ""
    try await CsvExport(
      repository: repository, limits: lodge.limits,
      caller: AttendanceCaller(name: "user/root", role: .admin, address: "")
    ).run(table, year: year) { text += $0 }
    return text
  }

  /// The sequence of the last change.
  var lastSequence: Int64 {
    get throws {
      let query = try PositionQuery(user: "", pageSize: 1, pageToken: "", scope: [], parts: 1, limits: lodge.limits)
      return try repository.auditEntries(query, subject: nil).items.first?.sequence ?? 0
    }
  }

  func verify(knownSequence: Int64 = 0, knownHash: String = "") throws -> VerifyAuditLogResponse {
    var verifier = AuditVerifier(knownSequence: knownSequence, knownHash: knownHash)
    while verifier.fault == nil {
      let rows = try repository.auditRows(after: verifier.lastSequence)
      if rows.isEmpty { break }
      for row in rows where try verifier.take(row) {}
    }
    verifier.finish()
    return verifier.response(isFinished: true)
  }
}
