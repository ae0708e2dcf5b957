import CampanileCrypto
import CampanileRPC
import CampanileService
import Dispatch
import Synchronization

/// Derives keys from PINs, one at a time on a thread of its own: each takes 32 MiB and a good part of a second, which is
/// meant to be so, and must hold up neither event loops nor one another's memory.
final class PinHasher: Sendable {
  /// Derivations that wait or run. One more: RESOURCE_EXHAUSTED, reason `LOGIN_BUSY`.
  static let waitingMax = 32

  private let cost: ScryptCost
  private let waitingMax: Int
  private let queue = DispatchQueue(label: "attendance.pins")
  private let waiting = Mutex(0)
  private let derivations = Mutex<Int64>(0)
  /// What a PIN is compared with where there is none, so that it takes as long.
  private let decoy: PasswordHash

  init(cost: ScryptCost, waitingMax: Int = PinHasher.waitingMax) throws(CryptoError) {
    self.cost = cost
    self.waitingMax = waitingMax
    decoy = try PasswordHash("decoy", cost: cost)
  }

  /// What to store of a PIN.
  func hash(_ pin: String) async throws -> String {
    let cost = cost
    return try await run { () throws(CryptoError) in try PasswordHash(pin, cost: cost).text }
  }

  /// Whether a PIN is the stored one. Without a stored one it never is, and takes as long.
  func matches(_ pin: String, _ stored: String?) async throws -> Bool {
    let hash = stored.flatMap { PasswordHash(text: $0) }
    let (other, isReal) = (hash ?? decoy, hash != nil)
    let matches = try await run { () throws(CryptoError) in try other.matches(pin) }
    return matches && isReal
  }

  /// Throws RESOURCE_EXHAUSTED, reason `LOGIN_BUSY`, when no derivation could begin to wait now.
  func checkRoom() throws(RPCError) {
    guard waiting.withLock({ $0 < waitingMax }) else { throw Self.busy }
  }

  private static var busy: RPCError {
    RPCError(.resourceExhausted, "too many log in at once", reason: Reason.loginBusy.rawValue, retryAfterMs: 2_000)
  }

  /// Derivations that were made since the start.
  var derivationCount: Int64 { derivations.withLock { $0 } }

  private func run<T: Sendable>(_ body: @escaping @Sendable () throws(CryptoError) -> T) async throws -> T {
    let mayWait = waiting.withLock { count in
      guard count < waitingMax else { return false }
      count += 1
      return true
    }
    guard mayWait else { throw Self.busy }
    return try await withCheckedThrowingContinuation { continuation in
      queue.async {
        let result = Result { () throws(CryptoError) in try body() }
        self.waiting.withLock { $0 -= 1 }
        self.derivations.withLock { $0 += 1 }
        continuation.resume(with: result.mapError { RPCError(.internalError, "a PIN cannot be checked: \($0.code)") })
      }
    }
  }
}
