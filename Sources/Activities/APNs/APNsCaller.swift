import CampanileRPC
import CampanileService
import NIOCore
import Synchronization

/// Calls APNs and waits for the answer: for the few requests that are no pushes, such as those about channels.
final class APNsCaller: Sendable {
  /// Calls that wait at the same time. One more has no answer.
  static let callsMax = 100

  private struct State {
    var waiting: [UInt64: CheckedContinuation<PushOutcome, Never>] = [:]
    var nextTicket: UInt64 = 1
  }

  private let sender: APNsSender
  private let state: WaitingCalls

  /// Those who wait, apart from the sender, which tells them.
  private final class WaitingCalls: Sendable {
    let state = Mutex(State())

    func tell(_ results: [PushResult]) {
      let told = state.withLock { state in
        results.compactMap { result in state.waiting.removeValue(forKey: result.ticket).map { ($0, result.outcome) } }
      }
      for (continuation, outcome) in told { continuation.resume(returning: outcome) }
    }
  }

  /// Throws as `APNsSender` does.
  init(
    _ configuration: APNsSender.Configuration, group: any EventLoopGroup, environment: SenderEnvironment
  ) throws {
    let waiting = WaitingCalls()
    state = waiting
    sender = try APNsSender(
      configuration, group: group, environment: environment, bell: WatchBell(), onResults: { waiting.tell($0) })
  }

  /// The answer to a request, whatever its status. Bounded in time by the sender.
  ///
  /// Throws UNAVAILABLE, reason `APNS_UNREACHABLE`, when there is none.
  func call(_ request: PushRequest, to route: PushRoute) async throws -> PushAnswer {
    let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<PushOutcome, Never>) in
      let ticket: UInt64? = state.state.withLock { state in
        guard state.waiting.count < Self.callsMax else { return nil }
        let ticket = state.nextTicket
        state.nextTicket += 1
        state.waiting[ticket] = continuation
        return ticket
      }
      guard let ticket else { return continuation.resume(returning: .unprocessed("too many calls wait")) }
      var request = request
      request.ticket = ticket
      sender.submit([request], to: route)
    }
    switch outcome {
    case .answered(let answer): return answer
    case .unprocessed(let why), .lost(let why):
      throw RPCError(.unavailable, "APNs gave no answer: \(why)", reason: "APNS_UNREACHABLE", retryAfterMs: 1_000)
    }
  }

  func shutDown() { sender.shutDown() }
}
