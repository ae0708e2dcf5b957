import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileService
import Dispatch
import Synchronization

/// Derives keys from PINs, one at a time on a dedicated thread.
///
/// Each derivation deliberately takes 32 MiB and a considerable part of a second. It must not block an event loop, and
/// concurrent derivations would multiply the memory.
final class PinHasher: Sendable {
  private typealias Job = @Sendable () -> Void

  /// Jobs in order of arrival. Jobs of known members and of strangers alternate.
  private struct Queues {
    var ordinary: [Job] = []
    var reserved: [Job] = []
    var isReservedNext = true

    mutating func next() -> Job? {
      let takesReserved = reserved.isEmpty ? false : isReservedNext || ordinary.isEmpty
      isReservedNext = !takesReserved
      if takesReserved { return reserved.removeFirst() }
      return ordinary.isEmpty ? nil : ordinary.removeFirst()
    }
  }

  private let cost: ScryptCost
  private let thread = DispatchQueue(label: "attendance.pins")
  private let slots: Mutex<PinSlots>
  private let queues = Mutex(Queues())
  private let derivations = Mutex<Int64>(0)
  /// The hash to compare with if a member has no PIN, so that the comparison takes equally long.
  private let decoy: PasswordHash

  init(cost: ScryptCost, slots: PinSlots = PinSlots()) throws(CryptoError) {
    self.cost = cost
    self.slots = Mutex(slots)
    decoy = try PasswordHash("decoy", cost: cost)
  }

  /// Runs `body`, which derives keys, while holding a slot. Throws RESOURCE_EXHAUSTED, reason `LOGIN_BUSY`, if no
  /// slot is free.
  func withSlot<T: Sendable>(_ slot: PinSlot, _ body: () async throws -> T) async throws -> T {
    guard slots.withLock({ $0.take(slot) }) else {
      throw RPCError(.resourceExhausted, "too many concurrent logins", .loginBusy, retryAfterMs: 2_000)
    }
    defer { slots.withLock { $0.release(slot) } }
    return try await body()
  }

  /// Returns the hash to store for a PIN set by a known caller. Throws RESOURCE_EXHAUSTED, reason `LOGIN_BUSY`.
  func hash(_ pin: String, by caller: AttendanceCaller) async throws -> String {
    let (cost, slot) = (cost, PinSlot(holder: caller.name, isReserved: true))
    return try await withSlot(slot) {
      try await run(slot) { () throws(CryptoError) in try PasswordHash(pin, cost: cost).text }
    }
  }

  /// Returns whether a PIN matches the stored one. Without a stored one it returns false after the same time. Call
  /// within `withSlot`.
  func matches(_ pin: String, _ stored: String?, _ slot: PinSlot) async throws -> Bool {
    let hash = stored.flatMap { PasswordHash(text: $0) }
    let (other, isReal) = (hash ?? decoy, hash != nil)
    let matches = try await run(slot) { () throws(CryptoError) in try other.matches(pin) }
    return matches && isReal
  }

  /// The number of derivations since the start.
  var derivationCount: Int64 { derivations.withLock { $0 } }

  private func run<T: Sendable>(
    _ slot: PinSlot, _ body: @escaping @Sendable () throws(CryptoError) -> T
  ) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      let job: Job = {
        let result = Result { () throws(CryptoError) in try body() }
        self.derivations.withLock { $0 += 1 }
        continuation.resume(with: result.mapError { RPCError(.internalError, "cannot hash the PIN: \($0.code)") })
      }
      queues.withLock { queues in
        if slot.isReserved { queues.reserved.append(job) } else { queues.ordinary.append(job) }
      }
      // Each turn of the thread runs one job, not necessarily this one.
      thread.async { self.queues.withLock { $0.next() }?() }
    }
  }
}
