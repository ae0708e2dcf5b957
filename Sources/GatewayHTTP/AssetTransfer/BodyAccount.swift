import CampanileBase
import CampanileRPC

/// Accounts for the buffered bytes of one request, in the process's budget and in its caller's share.
///
/// Releases its bytes on deinitialization. Confined to the connection's event loop.
final class BodyAccount {
  private let budget: WaitingBytesBudget
  private let holder: String
  private let isStranger: Bool
  private var countedBytes = 0

  /// Creates an account without any bytes.
  ///
  /// - Parameters:
  ///   - holder: The principal, or the address group of an unauthenticated caller.
  ///   - isStranger: Whether the caller is without a verified credential.
  init(_ budget: WaitingBytesBudget, holder: String, isStranger: Bool) {
    self.budget = budget
    self.holder = holder
    self.isStranger = isStranger
  }

  deinit { if countedBytes > 0 { budget.release(countedBytes, for: holder, isStranger: isStranger) } }

  /// Sets the number of buffered bytes.
  ///
  /// - Throws: RESOURCE_EXHAUSTED `WAITING_BYTES_EXCEEDED` beyond the caller's share, UNAVAILABLE `GATEWAY_OVERLOADED`
  ///   beyond the process's budget. The account then keeps its previous number.
  func count(_ sizeBytes: Int) throws(RPCError) {
    let more = sizeBytes - countedBytes
    guard more > 0 else { return reduce(to: sizeBytes) }
    do throws(WaitingBytesBudget.Fault) { try budget.reserve(more, for: holder, isStranger: isStranger) } catch {
      throw error == .holder ? shareExhausted : Self.overloaded
    }
    countedBytes = sizeBytes
  }

  /// Releases bytes that are no longer buffered.
  func reduce(to sizeBytes: Int) {
    guard sizeBytes < countedBytes else { return }
    budget.release(countedBytes - sizeBytes, for: holder, isStranger: isStranger)
    countedBytes = sizeBytes
  }

  private var shareExhausted: RPCError {
    RPCError(
      .resourceExhausted, "more than \(budget.holderBytesMax) bytes of this caller's requests are buffered",
      reason: "WAITING_BYTES_EXCEEDED", errorMetadata: ["limit": String(budget.holderBytesMax)], retryAfterMs: 1_000,
      processed: false)
  }
  static let overloaded = RPCError(
    .unavailable, "too many requests are being read", reason: "GATEWAY_OVERLOADED", retryAfterMs: 1000, processed: false
  )
}
