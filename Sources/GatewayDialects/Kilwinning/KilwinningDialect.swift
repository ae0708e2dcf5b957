import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

/// The Kilwinning app's REST API over Attendance: paths and names in Italian under `/api`, with bare JSON objects. The
/// app keeps no token, so a cookie identifies the caller.
struct KilwinningDialect: HTTPDialect {
  static let cookie = "kilwinning_session"
  static let path = "/api"
  /// Identifies a device on which a member has logged in. Sent only with logins.
  static let deviceCookie = "kilwinning_device"
  static let loginPath = "/api/fratelli/login"
  /// Lifetime of Attendance's device tokens.
  static let deviceMaxAgeS: Int64 = 180 * 24 * 3_600
  private static let resources: Set<Substring> = ["fratelli", "presenze", "tornate", "admin"]

  /// Whether the cookie is restricted to encrypted connections.
  let isCookieSecure: Bool
  let nowMs: @Sendable () -> Int64
  let picker: KilwinningPicker

  init(isCookieSecure: Bool, nowMs: @escaping @Sendable () -> Int64) {
    self.isCookieSecure = isCookieSecure
    self.nowMs = nowMs
    picker = KilwinningPicker(nowMs: nowMs)
  }

  enum Action: Sendable, Hashable {
    case login, logout, current, members, confirm, meetings, years, summaries, summariesFile, createMeeting
    case updateMember(Int64), presences(Int64), statistics(Int64), updateMeeting(Int64), deleteMeeting(Int64)

    var takesBody: Bool {
      switch self {
      case .login, .logout, .confirm, .createMeeting, .updateMember, .updateMeeting: true
      default: false
      }
    }

    /// Logins need no credential, the picker is shown before a login, and a logout also works without a session.
    var access: DialectPlan.Access {
      switch self {
      case .login, .logout, .members: .open
      case .current: .method(SessionsServiceMethods.getCurrentMember)
      case .confirm: .method(AttendanceServiceMethods.confirmAttendance)
      case .meetings: .method(MeetingsServiceMethods.listMeetings)
      case .years: .method(MeetingsServiceMethods.listMeetingYears)
      case .summaries: .method(StatisticsServiceMethods.listMemberSummaries)
      case .summariesFile: .method(LodgeServiceMethods.exportCsv)
      case .createMeeting: .method(MeetingsServiceMethods.createMeeting)
      case .updateMember: .method(MembersServiceMethods.updateMember)
      case .presences: .method(AttendanceServiceMethods.listMemberAttendance)
      case .statistics: .method(StatisticsServiceMethods.getMemberStatistics)
      case .updateMeeting: .method(MeetingsServiceMethods.updateMeeting)
      case .deleteMeeting: .method(MeetingsServiceMethods.deleteMeeting)
      }
    }
  }

  func plan(_ request: RequestHead, segments: [Substring]) throws(RPCError) -> DialectPlan? {
    guard segments.count >= 2, segments[0] == "api", Self.resources.contains(segments[1]) else { return nil }
    let actions = Self.actions(segments.dropFirst())
    guard let action = actions[request.method] else {
      return DialectPlan.unserved(allowed: actions.keys.sorted(), request["authorization"], Self.failure)
    }
    let found = Result { () throws(RPCError) in try KilwinningCaller(request) }
    let plan = DialectPlan(
      access: action.access, takesBody: action.takesBody, authorization: request["authorization"],
      session: try? found.get().session, failure: Self.failure
    ) { (body, calls) async throws(RPCError) in
      try request.checkJSONBody(isTaken: action.takesBody)
      let query = try KilwinningQuery(QueryText(request.query))
      let session = KilwinningSession(dialect: self, caller: try found.get(), query: query)
      return try await session.answer(action, body: body, calls: calls)
    }
    // With two sessions, the caller is ambiguous.
    if case .failure(let error) = found { return plan.refused(with: error) }
    return plan
  }

  /// Returns the actions at a path, by HTTP method.
  static func actions(_ path: ArraySlice<Substring>) -> [String: Action] {
    var id: Int64 = 0
    var shape: [String] = []
    for segment in path {
      if let number = number(segment) {
        id = number
        shape.append(":id")
      } else {
        shape.append(String(segment))
      }
    }
    switch shape {
    case ["fratelli"]: return ["GET": .members]
    case ["fratelli", "login"]: return ["POST": .login]
    case ["fratelli", "logout"]: return ["POST": .logout]
    case ["fratelli", "me"]: return ["GET": .current]
    case ["fratelli", ":id"]: return ["PUT": .updateMember(id)]
    case ["presenze"]: return ["POST": .confirm]
    case ["presenze", "riepilogo-fratelli"]: return ["GET": .summaries]
    case ["presenze", "riepilogo-fratelli.csv"]: return ["GET": .summariesFile]
    case ["presenze", "fratello", ":id"]: return ["GET": .presences(id)]
    case ["presenze", "fratello", ":id", "statistiche"]: return ["GET": .statistics(id)]
    case ["tornate"]: return ["GET": .meetings]
    case ["tornate", "anni"]: return ["GET": .years]
    case ["admin", "tornate"]: return ["POST": .createMeeting]
    case ["admin", "tornate", ":id"]: return ["PUT": .updateMeeting(id), "DELETE": .deleteMeeting(id)]
    default: return [:]
    }
  }

  /// Parses a numeric id, which has only digits.
  private static func number(_ text: Substring) -> Int64? {
    guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }

  /// The app reads only the status; the text helps people who inspect the traffic.
  static func failure(_ error: RPCError) -> DialectAnswer {
    let status = error.code == .failedPrecondition ? 409 : HTTPStatusCode.ofREST(error, hasCondition: false)
    return DialectAnswer(
      status,
      .object(["success": .bool(false), "message": .string(error.message), "reason": .string(error.reason)]))
  }
}

/// The caller of a request, identified by the cookie or by `Authorization`.
struct KilwinningCaller: Sendable {
  let session: String?
  let identity: InnerCalls.Identity
  /// Empty if absent or longer than 64 bytes, because a bad cookie must not prevent a login.
  let deviceToken: String

  init(_ request: RequestHead) throws(RPCError) {
    let authorization = request["authorization"]
    // A key takes precedence over cookies that a browser adds.
    session = authorization == nil ? try SessionCookie.value(KilwinningDialect.cookie, request) : nil
    identity = session.map { .session($0) } ?? .bearer(authorization)
    let device = try SessionCookie.value(KilwinningDialect.deviceCookie, request) ?? ""
    deviceToken = device.utf8.count <= 64 ? device : ""
  }

  /// The anonymous caller of a login, within the rate limit for unauthenticated callers.
  static let login = InnerCalls.Identity.bearer(nil)
  /// The gateway's own principal, for the picker of names that is shown before a login. `KilwinningModels` limits the
  /// data that is returned without a login.
  static let picker = InnerCalls.Identity.trusted(principal: "service/kilwinning", scopes: "admin")

  var isStranger: Bool { identity == .bearer(nil) }
}
