import CampanileBase
import CampanileRPC
import GatewayHTTP
import Synchronization

/// A short-lived cache for the list of names that the app shows before a login.
///
/// Unauthenticated callers request the list, and building it may take many calls. Concurrent requests therefore share
/// one build, and later ones its result. A change of a member appears after at most `ageMaxMs`. Thread-safe.
final class KilwinningPicker: Sendable {
  static let ageMaxMs: Int64 = 5_000

  fileprivate struct State {
    var answer: DialectAnswer?
    var madeAtMs: Int64 = 0
    var making: Task<Result<DialectAnswer, RPCError>, Never>?
  }

  private let nowMs: @Sendable () -> Int64
  private let state = Mutex(State())

  init(nowMs: @escaping @Sendable () -> Int64) { self.nowMs = nowMs }

  /// Returns the cached response, or builds one with `make`. Errors are not cached.
  func answer(
    _ make: @escaping @Sendable () async -> Result<DialectAnswer, RPCError>
  ) async throws(RPCError) -> DialectAnswer {
    let nowMs = nowMs()
    let (kept, making) = state.withLock { state -> (DialectAnswer?, Task<Result<DialectAnswer, RPCError>, Never>?) in
      // The lower bound rejects entries from the future, in case the clock was set back.
      if let answer = state.answer, (0..<Self.ageMaxMs).contains(nowMs - state.madeAtMs) { return (answer, nil) }
      if let making = state.making { return (nil, making) }
      // Not cancelled with the first request, because others may wait for it.
      let task = Task {
        let result = await make()
        self.state.withLock { $0.finish(result, askedAtMs: nowMs) }
        return result
      }
      state.making = task
      return (nil, task)
    }
    if let kept { return kept }
    guard let making else { throw RPCError(.internalError, "the list was not built", reason: "CALL_FAILED") }
    return try await making.value.get()
  }
}

extension KilwinningPicker.State {
  /// Stores the result. Its age counts from the request, because changes during the build may be missing.
  fileprivate mutating func finish(_ result: Result<DialectAnswer, RPCError>, askedAtMs: Int64) {
    making = nil
    guard case .success(let made) = result else { return }
    (answer, madeAtMs) = (made, askedAtMs)
  }
}
