public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService
import Synchronization

/// Serves `campanile.attendance.v1.SessionsService`.
public struct SessionsService: SessionsServiceProtocol {
  let repository: any AttendanceRepository
  let access: AccessControl
  let lifetime: SessionLifetime
  let hasher: PinHasher
  let throttle: Throttle

  /// The throttle that all calls share.
  final class Throttle: Sendable {
    private let state: Mutex<LoginThrottle>

    init(_ throttle: LoginThrottle) { state = Mutex(throttle) }

    /// Throws RESOURCE_EXHAUSTED, reason `LOGIN_THROTTLED`.
    func begin(name: String, address: String?, nowMs: Int64) throws(RPCError) {
      let waitMs = state.withLock { $0.begin(name: name, address: address, nowMs: nowMs) }
      guard let waitMs else { return }
      throw RPCError(
        .resourceExhausted, "too many attempts: wait before the next", reason: Reason.loginThrottled.rawValue,
        retryAfterMs: waitMs)
    }

    func succeeded(name: String, address: String?) {
      state.withLock { $0.succeeded(name: name, address: address) }
    }

    func withdraw(name: String, address: String?) {
      state.withLock { $0.withdraw(name: name, address: address) }
    }
  }

  /// What an unknown name, a wrong PIN and a member who may not log in all answer.
  static var credentialsInvalid: RPCError {
    RPCError(.unauthenticated, "name or PIN is wrong", reason: Reason.credentialsInvalid.rawValue)
  }

  public func login(_ request: LoginRequest, context: CallContext) async throws -> LoginResponse {
    var violations = Violations()
    violations.text(request.name, "name", max: MemberRules.nameMax, isRequired: true)
    if request.pin.unicodeScalars.count > MemberRules.pinRange.upperBound {
      violations.add("pin", "must have at most \(MemberRules.pinRange.upperBound) characters", .tooLong)
    }
    try violations.check()
    // Before anything is remembered of the attempt.
    if !request.pin.isEmpty { try hasher.checkRoom() }
    let key = MemberRules.key(of: request.name)
    let address = AccessControl.isOwnAddress(context) ? AccessControl.address(context) : nil
    try throttle.begin(name: key, address: address, nowMs: repository.clockMs())
    let member = try repository.loginMember(nameKey: key)
    var isRight = false
    if lifetime.allowsNameOnly, request.pin.isEmpty, let member, member.pinHash == nil {
      isRight = true
    } else {
      isRight = try await judge(request.pin, member?.pinHash, name: key, address: address)
    }
    guard isRight, let member, member.isActive else { throw Self.credentialsInvalid }
    let (token, hash) = try SessionToken.random()
    let (found, session) = try await repository.openSession(
      of: member.number, tokenHash: hash, lifetime: lifetime, address: AccessControl.address(context))
    throttle.succeeded(name: key, address: address)
    var response = LoginResponse()
    response.sessionToken = token
    response.member = found
    response.session = session
    return response
  }

  public func getCurrentMember(
    _ request: GetCurrentMemberRequest, context: CallContext
  ) async throws -> GetCurrentMemberResponse {
    let caller = try access.caller(context, .member)
    var response = GetCurrentMemberResponse()
    if let hash = caller.sessionHash {
      response.session = try await repository.renewSession(hash, lifetime: lifetime)
    }
    response.member = try repository.member(try caller.requireMember())
    return response
  }

  public func logout(_ request: LogoutRequest, context: CallContext) async throws -> LogoutResponse {
    let caller = try access.caller(context)
    if let hash = caller.sessionHash { try await repository.endSession(hash) }
    return LogoutResponse()
  }

  public func listSessions(_ request: ListSessionsRequest, context: CallContext) async throws -> ListSessionsResponse {
    let caller = try access.caller(context, .member)
    var response = ListSessionsResponse()
    response.sessions = try repository.sessions(of: try member(request.memberId, for: caller))
    return response
  }

  public func revokeSessions(
    _ request: RevokeSessionsRequest, context: CallContext
  ) async throws -> RevokeSessionsResponse {
    let caller = try access.caller(context, .member)
    var response = RevokeSessionsResponse()
    response.revokedCount = Int32(
      clamping: try await repository.revokeSessions(of: try member(request.memberId, for: caller), by: caller))
    return response
  }

  public func changePin(_ request: ChangePinRequest, context: CallContext) async throws -> ChangePinResponse {
    let caller = try access.caller(context, .member)
    let number = try caller.requireMember()
    var violations = Violations()
    MemberRules.checkPin(request.newPin, "newPin", mayBeEmpty: false, &violations)
    try violations.check()
    try throttle.begin(name: caller.name, address: nil, nowMs: repository.clockMs())
    let isRight = try await judge(request.oldPin, repository.pinHash(of: number), name: caller.name, address: nil)
    guard isRight else { throw Self.credentialsInvalid }
    throttle.succeeded(name: caller.name, address: nil)
    let hash = try await hasher.hash(request.newPin)
    try await repository.setPin(number, hash: hash, keptSession: caller.sessionHash, by: caller)
    return ChangePinResponse()
  }

  /// Whether a PIN is the stored one. An attempt that cannot be judged now does not count.
  private func judge(_ pin: String, _ stored: String?, name: String, address: String?) async throws -> Bool {
    do {
      return try await hasher.matches(pin, stored)
    } catch {
      throttle.withdraw(name: name, address: address)
      throw error
    }
  }

  /// Whose sessions a request means: the caller's own, or with an id those of another, which is for admins.
  private func member(_ id: String, for caller: Caller) throws(RPCError) -> Int64 {
    if id.isEmpty { return try caller.requireMember() }
    let number = try FieldIDs.member(id)
    try caller.require(.admin, orMember: number)
    return number
  }
}
