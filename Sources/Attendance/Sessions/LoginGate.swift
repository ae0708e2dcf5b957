import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Synchronization

/// An attempt to prove a PIN.
struct PinAttempt: Sendable {
  /// The member or name that the failure counts for.
  var subject: LoginSubject
  /// The device if the attempt has a valid token, otherwise its address or program.
  var origin: LoginOrigin
  /// The address for the audit log.
  var address: String
  /// Whether the caller is authenticated as the member, by a session or a key.
  var hasSession = false

  /// The hash of the valid device token; nil if there is none.
  var device: [UInt8]? {
    if case .device(let hash) = origin { return hash }
    return nil
  }
}

/// Checks PINs: limits concurrent derivations, applies the throttle and the hard stop, and counts the outcomes.
struct LoginGate: Sendable {
  /// The outcomes of failed attempts, as exported in the metric.
  enum Outcome: String, Sendable, CaseIterable {
    case wrong, throttled, locked, busy
  }

  /// The state shared by all calls.
  final class State: Sendable {
    fileprivate let throttle: Mutex<LoginThrottle>
    fileprivate let outcomes = Mutex<[Outcome: Int]>([:])

    init(_ throttle: LoginThrottle = LoginThrottle()) { self.throttle = Mutex(throttle) }
  }

  let repository: any AttendanceRepository
  let hasher: PinHasher
  let state: State

  /// Returns the number of failed attempts with an outcome since the start.
  func failures(_ outcome: Outcome) -> Int { state.outcomes.withLock { $0[outcome, default: 0] } }

  /// Returns whether a PIN matches the stored one, and counts the attempt if it does not. After a match, call
  /// `succeeded`.
  ///
  /// - Throws: RESOURCE_EXHAUSTED, reason `LOGIN_BUSY` or `LOGIN_THROTTLED`; FAILED_PRECONDITION, reason
  ///   `LOGIN_LOCKED`. Rejected attempts do not count.
  func judge(_ pin: String, _ stored: String?, _ attempt: PinAttempt) async throws -> Bool {
    do {
      let slot = slot(of: attempt)
      let isRight = try await hasher.withSlot(slot) {
        try begin(attempt)
        do {
          guard
            try await repository.countAttempt(
              of: attempt.subject, device: attempt.device, address: attempt.address)
          else { throw Self.locked }
          return try await hasher.matches(pin, stored, slot)
        } catch {
          withdraw(attempt)
          throw error
        }
      }
      if !isRight { count(.wrong) }
      return isRight
    } catch let error as RPCError {
      switch Reason(rawValue: error.reason) {
      case .loginBusy: count(.busy)
      case .loginLocked: count(.locked)
      default: break
      }
      throw error
    }
  }

  /// Counts a correct PIN of a member who may not log in as a wrong one.
  func rejected() { count(.wrong) }

  /// Counts an attempt in the throttle only. Throws RESOURCE_EXHAUSTED, reason `LOGIN_THROTTLED`, if it must wait.
  func begin(_ attempt: PinAttempt) throws(RPCError) {
    let nowMs = repository.clockMs()
    let waitMs = state.throttle.withLock { $0.begin(name: attempt.subject.key, from: attempt.origin, nowMs: nowMs) }
    guard let waitMs else { return }
    count(.throttled)
    throw RPCError(
      .resourceExhausted, "too many attempts; wait before the next one", .loginThrottled,
      retryAfterMs: waitMs)
  }

  /// Records that the attempt succeeded.
  func succeeded(_ attempt: PinAttempt) {
    let nowMs = repository.clockMs()
    state.throttle.withLock { $0.succeeded(name: attempt.subject.key, from: attempt.origin, nowMs: nowMs) }
  }

  private func withdraw(_ attempt: PinAttempt) {
    state.throttle.withLock { $0.withdraw(name: attempt.subject.key, from: attempt.origin) }
  }

  private func count(_ outcome: Outcome) { state.outcomes.withLock { $0[outcome, default: 0] += 1 } }

  /// Returns the slot of an attempt. Slots of known members are reserved: strangers cannot use them.
  private func slot(of attempt: PinAttempt) -> PinSlot {
    let key = attempt.subject.key
    let nowMs = repository.clockMs()
    let isKnown =
      attempt.hasSession || attempt.device != nil
      || state.throttle.withLock { $0.isKnown(name: key, from: attempt.origin, nowMs: nowMs) }
    if isKnown { return PinSlot(holder: key, isReserved: true) }
    return switch attempt.origin {
    case .address(let group): PinSlot(holder: group, isReserved: false)
    case .principal(let name): PinSlot(holder: name, isReserved: false)
    case .device: PinSlot(holder: key, isReserved: true)
    }
  }

  static var locked: RPCError {
    RPCError(.failedPrecondition, "too many wrong PINs; an administrator must set a new one", .loginLocked)
  }
}
