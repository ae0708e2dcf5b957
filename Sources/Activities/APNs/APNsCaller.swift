import CampanileBase
import CampanileRPC
import NIOCore
import Synchronization

/// Sends single requests to APNs and waits for the response, for requests that are not pushes, such as those about
/// channels.
final class APNsCaller: Sendable {
  /// Maximum number of concurrent calls; further calls throw.
  static let callsMax = 100

  private struct State {
    var waiting: [UInt64: CheckedContinuation<PushOutcome, Never>] = [:]
    var nextTicket: UInt64 = 1
  }

  private let sender: APNsSender
  private let state: WaitingCalls

  /// The waiting calls, in a separate object because the sender's callback needs them before the caller is initialised.
  private final class WaitingCalls: Sendable {
    let state = Mutex(State())

    func tell(_ results: [PushResult]) {
      let completed = state.withLock { state in
        results.compactMap { result in state.waiting.removeValue(forKey: result.ticket).map { ($0, result.outcome) } }
      }
      for (continuation, outcome) in completed { continuation.resume(returning: outcome) }
    }
  }

  /// Creates a caller with its own sender; throws the errors of `APNsSender.init`.
  init(
    _ configuration: APNsSender.Configuration, group: any EventLoopGroup, environment: SenderEnvironment
  ) throws {
    let waiting = WaitingCalls()
    state = waiting
    sender = try APNsSender(
      configuration, group: group, environment: environment, signal: WakeSignal(), onResults: { waiting.tell($0) })
  }

  /// Returns the response to a request, whatever its status. The sender limits the waiting time.
  ///
  /// - Throws: UNAVAILABLE, reason `APNS_UNREACHABLE`, if there is no response.
  func call(_ request: PushRequest, to route: PushRoute) async throws -> PushAnswer {
    let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<PushOutcome, Never>) in
      let ticket: UInt64? = state.state.withLock { state in
        guard state.waiting.count < Self.callsMax else { return nil }
        let ticket = state.nextTicket
        state.nextTicket += 1
        state.waiting[ticket] = continuation
        return ticket
      }
      guard let ticket else { return continuation.resume(returning: .unprocessed("too many calls are waiting")) }
      var request = request
      request.ticket = ticket
      sender.submit([request], to: route)
    }
    switch outcome {
    case .answered(let answer): return answer
    case .unprocessed(let why), .lost(let why):
      throw RPCError(.unavailable, "APNs did not respond: \(why)", reason: "APNS_UNREACHABLE", retryAfterMs: 1_000)
    }
  }

  func shutDown() { sender.shutDown() }
}
