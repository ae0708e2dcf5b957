import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

/// Serves one request of the app.
struct KilwinningSession: Sendable {
  let dialect: KilwinningDialect
  let caller: KilwinningCaller
  let query: KilwinningQuery

  func answer(_ action: KilwinningDialect.Action, body: [UInt8], calls: InnerCalls) async throws(RPCError)
    -> DialectAnswer
  {
    switch action {
    case .login: try await login(body, calls)
    case .logout: try await logout(calls)
    case .current: try await current(calls)
    case .members: try await members(calls)
    case .updateMember(let id): try await updateMember(id, body, calls)
    case .presences(let id): try await presences(id, calls)
    case .statistics(let id): try await statistics(id, calls)
    case .summaries: try await summaries(calls)
    case .summariesFile: try await summariesFile(calls)
    case .confirm: try await confirm(body, calls)
    case .meetings: try await meetings(calls)
    case .years: try await years(calls)
    case .createMeeting: try await createMeeting(body, calls)
    case .updateMeeting(let id): try await updateMeeting(id, body, calls)
    case .deleteMeeting(let id): try await deleteMeeting(id, calls)
    }
  }

  // MARK: sessions

  private func login(_ body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let fields = try JSONFields(body)
    let request = LoginRequest(
      name: try fields.required("nome", try fields.string("nome")), pin: try fields.string("pin") ?? "",
      deviceToken: caller.deviceToken)
    let response: LoginResponse = try await calls.unary(
      SessionsServiceMethods.login, request, as: KilwinningCaller.login)
    let member = response.member ?? Member()
    return DialectAnswer(
      200,
      .object([
        "user": try await brother(member, calls, as: .session(response.sessionToken)),
        "admin_access": .bool(KilwinningModels.isAdmin(member)),
      ]), headers: [cookie(response.sessionToken, response.session)] + deviceCookie(response.deviceToken))
  }

  /// Returns the cookie that allows logins from this device while failures elsewhere lock the member's PIN. None for
  /// logins by name alone.
  private func deviceCookie(_ token: String) -> [DialectAnswer.Header] {
    guard !token.isEmpty else { return [] }
    return [
      SessionCookie.set(
        KilwinningDialect.deviceCookie, token, path: KilwinningDialect.loginPath,
        maxAgeS: KilwinningDialect.deviceMaxAgeS, isSecure: dialect.isCookieSecure, sameSite: .strict)
    ]
  }

  /// Returns the session cookie, which expires when the session would without further requests.
  private func cookie(_ token: String, _ session: MemberSession?) -> DialectAnswer.Header {
    let leftMs = (session?.expireTime?.millisecondsSince1970 ?? 0) - dialect.nowMs()
    return SessionCookie.set(
      KilwinningDialect.cookie, token, path: KilwinningDialect.path, maxAgeS: leftMs / 1000,
      isSecure: dialect.isCookieSecure)
  }

  var noCookie: DialectAnswer.Header {
    SessionCookie.clear(KilwinningDialect.cookie, path: KilwinningDialect.path, isSecure: dialect.isCookieSecure)
  }

  private func current(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let response: GetCurrentMemberResponse = try await call(
      SessionsServiceMethods.getCurrentMember, GetCurrentMemberRequest(), calls)
    let renewed = caller.session.map { [cookie($0, response.session)] } ?? []
    return DialectAnswer(200, try await brother(response.member, calls, as: caller.identity), headers: renewed)
  }

  /// Ends the session. A session that has already ended is not an error, because the app forgets its user in any case.
  private func logout(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    if caller.session != nil {
      do throws(RPCError) {
        let _: LogoutResponse = try await call(SessionsServiceMethods.logout, LogoutRequest(), calls)
      } catch { if error.code != .unauthenticated { throw error } }
    }
    return DialectAnswer(200, .object(["success": .bool(true)]), headers: [noCookie])
  }

  // MARK: calls

  func call<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, _ calls: InnerCalls
  ) async throws(RPCError) -> R {
    try await calls.unary(method, request, as: caller.identity)
  }

  func pages<Element>(
    _ page: (_ token: String) async throws(RPCError) -> (found: [Element], next: String)
  ) async throws(RPCError) -> [Element] {
    var all: [Element] = []
    var token = ""
    for _ in 0..<InnerCalls.pagesMax {
      let (found, next) = try await page(token)
      all += found
      if next.isEmpty { return all }
      token = next
    }
    throw RPCError(.resourceExhausted, "the list is too long for one response", reason: "ANSWER_TOO_LONG")
  }

  func known<Value>(
    _ word: String, _ table: [(word: String, value: Value)], _ field: String
  ) throws(RPCError) -> Value {
    guard let value = KilwinningWords.value(word, table) else {
      throw RPCError.invalidField(field, "it must be one of \(table.map(\.word).joined(separator: ", "))")
    }
    return value
  }
}
