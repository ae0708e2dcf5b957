import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Synchronization

/// Whether an attempt to log in may proceed.
enum AttemptVerdict: Sendable, Hashable {
  case proceeds
  /// The attempt must wait, and was not counted.
  case throttled(waitMs: Int64)
  /// The name is locked, and the attempt was not counted.
  case locked
}

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
    fileprivate let outcomes = Mutex<[Outcome: Int]>([:])

    init() {}
  }

  let repository: any AttendanceRepository
  let hasher: PinHasher
  let state: State

  /// Returns the number of failed attempts with an outcome since the start.
  func failures(_ outcome: Outcome) -> Int { state.outcomes.withLock { $0[outcome, default: 0] } }

  /// Returns whether a PIN matches the stored one, and counts the attempt. After a match, the write that grants the
  /// login withdraws it from the count.
  ///
  /// - Throws: RESOURCE_EXHAUSTED, reason `LOGIN_BUSY` or `LOGIN_THROTTLED`; FAILED_PRECONDITION, reason
  ///   `LOGIN_LOCKED`. Rejected attempts do not count.
  func judge(_ pin: String, _ stored: String?, _ attempt: PinAttempt) async throws -> Bool {
    do {
      let slot = try await slot(of: attempt)
      let isRight = try await hasher.withSlot(slot) {
        try await begin(attempt, checksPIN: true)
        do { return try await hasher.matches(pin, stored, slot) } catch {
          try await repository.withdrawAttempt(attempt)
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

  /// Counts an attempt, before a PIN is checked.
  ///
  /// - Parameter checksPIN: Whether a PIN is checked. Otherwise the attempt counts in the throttle only.
  /// - Throws: As `judge`.
  func begin(_ attempt: PinAttempt, checksPIN: Bool) async throws {
    switch try await repository.countAttempt(attempt, checksPIN: checksPIN) {
    case .proceeds: return
    case .locked: throw Self.locked
    case .throttled(let waitMs):
      count(.throttled)
      throw RPCError(
        .resourceExhausted, "too many attempts; wait before the next one", .loginThrottled,
        retryAfterMs: waitMs)
    }
  }

  private func count(_ outcome: Outcome) { state.outcomes.withLock { $0[outcome, default: 0] += 1 } }

  /// Returns the slot of an attempt. Slots of known members are reserved: strangers cannot use them.
  private func slot(of attempt: PinAttempt) async throws -> PinSlot {
    let key = attempt.subject.key
    var isKnown = attempt.hasSession || attempt.device != nil
    if !isKnown { isKnown = try await repository.isKnown(attempt) }
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
