import CampanileBase
import CampanileRPC
import NIOCore

/// Records all calls, to check that each ends exactly once and in time.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class CallBook: @unchecked Sendable {
  /// The tolerated delay after a deadline: the deadline wheel fires up to a tick late, and is advanced once per tick.
  static let slackMs: Int64 = 10

  private struct Open {
    var label: String
    var deadline: NIODeadline
    var isLate = false
  }

  let world: World
  private var open: [Int: Open] = [:]
  private(set) var callCount = 0
  private(set) var endCounts: [String: Int] = [:]

  init(_ world: World) { self.world = world }

  var openCount: Int { open.count }

  func began(_ label: String, timeoutMs: Int64) -> Int {
    callCount += 1
    open[callCount] = Open(label: label, deadline: world.loop.now + .milliseconds(timeoutMs + Self.slackMs))
    return callCount
  }

  func ended(_ number: Int, _ outcome: String) {
    guard let call = open.removeValue(forKey: number) else {
      return world.check(false, "call \(number) ended twice, the second time with \(outcome)")
    }
    endCounts[outcome, default: 0] += 1
    world.saw("call \(number) \(call.label) \(outcome)")
    world.check(
      call.isLate || world.loop.now <= call.deadline, "\(call.label) ended with \(outcome) after its deadline")
  }

  /// Checks for calls that are still open after their deadlines.
  func look() {
    for (number, call) in open where world.loop.now > call.deadline && !call.isLate {
      open[number]?.isLate = true
      world.check(false, "\(call.label) is still open after its deadline")
    }
  }

  func lookAtTheEnd() {
    for (number, call) in open.sorted(by: { $0.key < $1.key }) {
      world.check(false, "call \(number) \(call.label) has not ended")
    }
  }

  /// Makes a call, records it and returns its result.
  func make<R: Sendable>(
    _ label: String, timeoutMs: Int64, _ body: (CallOptions) async throws -> R, user: String? = nil
  ) async -> Result<R, RPCError> {
    let number = began(label, timeoutMs: timeoutMs)
    var options = CallOptions(timeoutMs: timeoutMs)
    if let user { options.metadata = [Principal.metadataKey: "user/\(user)"] }
    do {
      let reply = try await body(options)
      ended(number, "OK")
      return .success(reply)
    } catch {
      let failure = error as? RPCError ?? RPCError(.internalError, "\(error)", reason: "NO_RPC_ERROR")
      ended(number, failure.processed ? failure.reason : failure.reason + "-")
      return .failure(failure)
    }
  }
}

/// The known outcome of a request, over all its attempts.
struct Fate {
  /// An attempt has succeeded.
  var isDone = false
  /// An attempt may have been executed.
  var isPossible = false

  mutating func note<R>(_ result: Result<R, RPCError>) {
    switch result {
    case .success: (isDone, isPossible) = (true, true)
    case .failure(let error): isPossible = isPossible || error.processed
    }
  }
}
