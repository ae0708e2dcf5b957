import CampanileRPC

/// The REST face of the Kilwinning app over Attendance: paths and words in Italian under `/api`, bare objects, and a cookie
/// that says who calls, since the app keeps no token.
struct KilwinningDialect: HTTPDialect {
  static let cookie = "kilwinning_session"
  static let path = "/api"
  private static let resources: Set<Substring> = ["fratelli", "presenze", "tornate", "admin"]

  /// Whether the cookie is for encrypted connections alone.
  let isCookieSecure: Bool
  let nowMs: @Sendable () -> Int64

  enum Action: Sendable, Hashable {
    case login, logout, current, members, confirm, meetings, summaries, createMeeting
    case updateMember(Int64), presences(Int64), statistics(Int64), updateMeeting(Int64), deleteMeeting(Int64)

    var takesBody: Bool {
      switch self {
      case .login, .logout, .confirm, .createMeeting, .updateMember, .updateMeeting: true
      default: false
      }
    }
  }

  func plan(_ request: HTTPRequestText, segments: [Substring]) throws(RPCError) -> DialectPlan? {
    guard segments.count >= 2, segments[0] == "api", Self.resources.contains(segments[1]) else { return nil }
    let actions = Self.actions(segments.dropFirst())
    guard let action = actions[request.method] else {
      return DialectPlan.unserved(allowed: actions.keys.sorted(), request["authorization"], Self.failure)
    }
    return DialectPlan(
      takesBody: action.takesBody, authorization: request["authorization"], failure: Self.failure
    ) { (body, calls) async throws(RPCError) in
      try request.checkDialectBody(isTaken: action.takesBody)
      let query = try KilwinningQuery(QueryText(request.query))
      let session = KilwinningSession(dialect: self, caller: try KilwinningCaller(request), query: query)
      return try await session.answer(action, body: body, calls: calls)
    }
  }

  /// What can be done at a path, by HTTP method.
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
    case ["presenze", "fratello", ":id"]: return ["GET": .presences(id)]
    case ["presenze", "fratello", ":id", "statistiche"]: return ["GET": .statistics(id)]
    case ["tornate"]: return ["GET": .meetings]
    case ["admin", "tornate"]: return ["POST": .createMeeting]
    case ["admin", "tornate", ":id"]: return ["PUT": .updateMeeting(id), "DELETE": .deleteMeeting(id)]
    default: return [:]
    }
  }

  /// A number as ids have it: digits alone.
  private static func number(_ text: Substring) -> Int64? {
    guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }

  /// The app reads the status alone; the text is for people who look at the traffic.
  static func failure(_ error: RPCError) -> DialectAnswer {
    let status = error.code == .failedPrecondition ? 409 : HTTPStatusCode.ofREST(error, hasCondition: false)
    return DialectAnswer(
      status,
      .object(["success": .bool(false), "message": .string(error.message), "reason": .string(error.reason)]))
  }
}

/// Who calls: by the cookie, or as at every other face by `Authorization`.
struct KilwinningCaller: Sendable {
  let session: String?
  let identity: InnerCalls.Identity

  init(_ request: HTTPRequestText) throws(RPCError) {
    let authorization = request["authorization"]
    // A key that is shown counts, whatever cookie a browser adds.
    session = authorization == nil ? try SessionCookie.value(KilwinningDialect.cookie, request) : nil
    identity = session.map { .session($0) } ?? .bearer(authorization)
  }

  /// Nobody: a login is what everyone may try, as often as strangers may.
  static let login = InnerCalls.Identity.bearer(nil)
  /// For the picker of names, which is shown before a login, under the gateway's own name towards Attendance. What a stranger is
  /// told of it is cut in `KilwinningModels`.
  static let picker = InnerCalls.Identity.trusted(principal: "service/kilwinning", scopes: "admin")

  var isStranger: Bool { identity == .bearer(nil) }
}

/// What the app asks for in its URLs.
struct KilwinningQuery: Sendable {
  /// 0 means all.
  var year: Int32 = 0
  var status: String?

  /// Throws INVALID_ARGUMENT `FIELD_INVALID` for a year that is none.
  init(_ query: QueryText) throws(RPCError) {
    if let text = query["anno"], !text.isEmpty, text.lowercased() != "tutti" {
      guard text.utf8.count == 4, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int32(text),
        number > 0
      else { throw RPCError.invalidField("anno", "it must be a year or Tutti") }
      year = number
    }
    if let text = query["stato"], !text.isEmpty, text.lowercased() != "tutti" { status = text }
  }
}
