package import CampanileBase
import Synchronization

/// A process-wide budget for request bytes that are buffered but not served yet: unfinished frames and HTTP bodies of
/// all connections.
///
/// Each holder (a principal, or the address group of callers without a credential) may use a share of it. Safe from any
/// thread.
public final class WaitingBytesBudget: Sendable {
  /// The limit that a reservation would exceed.
  public enum Fault: Error, Sendable, Hashable { case holder, process }

  private struct State {
    var totalBytes = 0
    /// The part of `totalBytes` that strangers hold.
    var strangerBytes = 0
    var bytesByHolder: [String: Int] = [:]
  }

  public let totalBytesMax: Int
  public let holderBytesMax: Int
  private let state = Mutex(State())

  /// Creates a budget. Both limits are in bytes.
  public init(totalBytesMax: Int, holderBytesMax: Int) {
    self.totalBytesMax = totalBytesMax
    self.holderBytesMax = min(holderBytesMax, totalBytesMax)
  }

  /// Returns a budget of `totalBytesMax` bytes, of which each holder may use a quarter.
  public static func standard(totalBytesMax: Int = 64 * 1024 * 1024) -> WaitingBytesBudget {
    WaitingBytesBudget(totalBytesMax: totalBytesMax, holderBytesMax: totalBytesMax / 4)
  }

  /// The number of reserved bytes.
  public var totalBytes: Int { state.withLock { $0.totalBytes } }
  /// The number of holders with a reservation.
  public var holderCount: Int { state.withLock { $0.bytesByHolder.count } }

  /// Reserves bytes for a holder. Release the same number later.
  ///
  /// - Parameter isStranger: Whether the holder has no credential. All strangers together may use half of the budget.
  /// - Throws: `Fault` if the holder's share or the whole budget is exceeded; nothing is then reserved.
  public func reserve(_ sizeBytes: Int, for holder: String, isStranger: Bool = false) throws(Fault) {
    try state.withLock { state throws(Fault) in
      let held = state.bytesByHolder[holder] ?? 0
      guard held + sizeBytes <= holderBytesMax else { throw .holder }
      guard state.totalBytes + sizeBytes <= totalBytesMax else { throw .process }
      guard !isStranger || state.strangerBytes + sizeBytes <= totalBytesMax / 2 else { throw .process }
      state.totalBytes += sizeBytes
      if isStranger { state.strangerBytes += sizeBytes }
      state.bytesByHolder[holder] = held + sizeBytes
    }
  }

  /// Releases bytes that were reserved with the same arguments.
  public func release(_ sizeBytes: Int, for holder: String, isStranger: Bool = false) {
    state.withLock { state in
      let held = (state.bytesByHolder[holder] ?? 0) - sizeBytes
      state.totalBytes -= sizeBytes
      if isStranger { state.strangerBytes -= sizeBytes }
      state.bytesByHolder[holder] = held > 0 ? held : nil
    }
  }
}

extension WaitingBytesBudget.Fault {
  /// The error for a caller that leaves more unread than the budget allows.
  package var slowConsumer: RPCError {
    let whose = self == .holder ? "the caller's share" : "all"
    return RPCError(
      .resourceExhausted, "\(whose) of the bytes that may wait for callers to read them is used up",
      reason: "SLOW_CONSUMER", retryAfterMs: 1000)
  }
}
