import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import Gateway
import NIOHTTP1

/// Serves the console's session: `POST` signs in, `DELETE` signs out, and `GET` returns the issuer at which users can
/// sign in.
struct ConsoleSignIn: HTTPDialect {
  static let methods = ["GET", "POST", "DELETE"]
  let console: ConsoleFrontend
  /// The token issuer; nil if nobody can sign in there.
  let issuer: String?

  func plan(_ request: RequestHead, segments: [Substring]) throws(RPCError) -> DialectPlan? {
    guard request.path == console.sessionPath else { return nil }
    let authorization = request["authorization"]
    guard Self.methods.contains(request.method) else {
      return .unserved(allowed: Self.methods, authorization) { .rest($0) }
    }
    let plan = plan(request, authorization)
    guard console.cookie.isOwn(method: request.method, request.headers) else { return plan.refused(with: Self.foreign) }
    do throws(RPCError) { try request.checkJSONBody(isTaken: plan.takesBody) } catch {
      return plan.refused(with: error)
    }
    return plan
  }

  private func plan(_ request: RequestHead, _ authorization: String?) -> DialectPlan {
    let userAgent = request["user-agent"] ?? ""
    return DialectPlan(
      access: request.method == "GET" ? .none : .open, takesBody: request.method == "POST",
      authorization: authorization, failure: { .rest($0) }
    ) { [method = request.method] body, calls throws(RPCError) in
      switch method {
      case "POST": try await signIn(body, calls, userAgent: userAgent)
      case "DELETE": try await signOut(authorization, calls)
      default: DialectAnswer(200, .object(issuer.map { ["issuer": .string($0)] } ?? [:]))
      }
    }
  }

  private static let foreign = RPCError(
    .permissionDenied, "only the console's own page may sign in and out", reason: "ORIGIN_NOT_ALLOWED",
    processed: false)

  // MARK: signing in

  private func signIn(_ body: [UInt8], _ calls: InnerCalls, userAgent: String) async throws(RPCError) -> DialectAnswer {
    let request = try ConsoleSignInRequest(body)
    let address = CallTransport.host(of: calls.remoteAddress)
    do throws(RPCError) {
      let grant = try await grant(request, calls)
      let opened = try await Self.mapping { () async throws in
        try await console.sessions.open(grant, address: address, userAgent: userAgent)
      }
      let leftMs = opened.session.endsAtMs - console.sessions.nowMs
      let view: [String: JSONTree] = [
        "id": .string(opened.session.id), "principal": .string(opened.session.principalName),
      ]
      var answer = DialectAnswer(200, .object(["session": .object(view)]))
      answer.headers.append(console.cookie.format.header(opened.cookie, maxAgeS: (leftMs + 999) / 1000))
      return answer
    } catch {
      if error.code == .unauthenticated || error.code == .failedPrecondition || error.code == .resourceExhausted {
        await console.sessions.signInFailed(request.method, address: address, reason: error.reason)
      }
      throw error
    }
  }

  private func grant(_ request: ConsoleSignInRequest, _ calls: InnerCalls) async throws(RPCError) -> ConsoleGrant {
    switch request {
    case .link(let token): return try await console.sessions.links.use(token)
    case .apiKey(let secret): return try console.sessions.grant(apiKey: secret)
    case .lodge(let name, let pin):
      // Attendance delays and locks names and addresses that fail.
      let response: LoginResponse = try await calls.unary(
        SessionsServiceMethods.login, LoginRequest(name: name, pin: pin), as: .bearer(nil))
      guard let grant = ConsoleGrant(lodgeMember: response.member?.id ?? "", token: response.sessionToken) else {
        throw RPCError(.internalError, "the member has no id", reason: "RESPONSE_INVALID")
      }
      return grant
    }
  }

  // MARK: signing out

  /// Ends the session of the request and clears the cookie. A session that has already ended is not an error.
  private func signOut(_ authorization: String?, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    if let session = console.sessions.session(authorization: authorization) {
      if let token = session.knownLodgeToken {
        // The member's session ends by itself if Attendance cannot be reached.
        do throws(RPCError) {
          let _: LogoutResponse = try await calls.unary(
            SessionsServiceMethods.logout, LogoutRequest(), as: .session(token))
        } catch {}
      }
      try await Self.mapping {
        try await console.sessions.end(session, .signedOut, address: CallTransport.host(of: calls.remoteAddress))
      }
    }
    var answer = DialectAnswer(200, .object([:]))
    answer.headers.append(console.cookie.format.header("", maxAgeS: 0))
    return answer
  }

  /// Maps other errors than those of calls to one without their text, which only the operator may see.
  private static func mapping<T: Sendable>(_ body: () async throws -> T) async throws(RPCError) -> T {
    do { return try await body() } catch {
      throw error as? RPCError
        ?? RPCError(.unavailable, "the session cannot be stored", reason: "STORE_UNAVAILABLE", retryAfterMs: 1_000)
    }
  }
}

/// The body of a sign-in: exactly one of a link's token, an API key, and a lodge member's name and PIN.
enum ConsoleSignInRequest: Sendable, Hashable {
  case link(String)
  case apiKey(String)
  case lodge(name: String, pin: String)

  var method: SignInMethod {
    switch self {
    case .link: .link
    case .apiKey: .apiKey
    case .lodge: .lodge
    }
  }

  /// Reads a body.
  ///
  /// - Throws: INVALID_ARGUMENT `BODY_NOT_JSON` or `BODY_NOT_OBJECT`, or `FIELD_INVALID` unless exactly one is given.
  init(_ body: [UInt8]) throws(RPCError) {
    self = try body.withUnsafeBytes { bytes in
      Result { () throws(RPCError) in
        try RawJSON.checkObject(bytes)
        guard let members = RawJSON.members(bytes, 0..<bytes.count), members.count == 1, let member = members.first
        else { throw Self.invalid }
        switch (member.name, RawJSON.string(bytes, member.value)) {
        case ("link", let text?): return .link(text)
        case ("apiKey", let text?): return .apiKey(text)
        case ("lodge", nil): return try Self.lodge(bytes, member.value)
        default: throw Self.invalid
        }
      }
    }.get()
  }

  private static func lodge(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(RPCError) -> Self {
    var texts: [String: String] = [:]
    for member in RawJSON.members(bytes, range) ?? [] {
      guard texts[member.name] == nil, let text = RawJSON.string(bytes, member.value) else { throw invalid }
      texts[member.name] = text
    }
    guard let name = texts["name"], let pin = texts["pin"], texts.count == 2, name.utf8.count <= 512,
      pin.utf8.count <= 256
    else { throw invalid }
    return .lodge(name: name, pin: pin)
  }

  private static let invalid = RPCError.invalidField(
    "body", "must have one of link, apiKey, and lodge with name and pin")
}
