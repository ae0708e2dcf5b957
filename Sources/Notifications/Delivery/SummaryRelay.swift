import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

/// Sends each user's changed unread summary to the push service.
///
/// The outbox has at most one message per user, without content. The summary is read when it is sent, so that rapid
/// changes are combined.
struct SummaryRelay: Sendable {
  private let relay: OutboxRelay
  private let signal: WakeSignal

  /// - Parameter signal: Signalled after every commit.
  init(
    repository: SQLiteNotificationsRepository, pusher: any DevicePushing, environment: RelayEnvironment,
    signal: WakeSignal
  ) {
    self.signal = signal
    var limits = OutboxRelay.Limits()
    // A summary is never abandoned: at most one message per user is pending.
    limits.attemptsMax = .max
    limits.parallelKeysMax = 16
    relay = OutboxRelay(store: repository.store, limits: limits, environment: environment) { message in
      guard message.topic == CommitNotifier.summaryTopic else { return .reject(reason: "unknown topic") }
      return try await Self.deliver(message.key, repository, pusher)
    }
  }

  /// Runs until the task is cancelled.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await relay.run() }
      group.addTask { while (try? await signal.wait()) != nil { relay.wake() } }
    }
  }

  func deliverDue() async throws -> OutboxRelay.Round { try await relay.deliverDue() }

  private static func deliver(
    _ user: String, _ repository: SQLiteNotificationsRepository, _ pusher: any DevicePushing
  ) async throws -> OutboxDelivery {
    var request = PutUnreadSummaryRequest(userId: user)
    // Read the sequence first: if the summary is newer than its sequence, another summary follows anyway.
    request.sequence = try await repository.lastChange()
    request.summary = try await repository.unreadSummary(user: user)
    do {
      let response = try await pusher.put(request)
      // The receiver knows a higher sequence: this store was restored from a backup, but its summary is still the
      // correct one.
      guard !response.accepted, response.knownSequence > request.sequence else { return .delivered }
      request.sequence = response.knownSequence + 1
      _ = try await pusher.put(request)
      return .delivered
    } catch let refusal as RPCError where refusal.code == .invalidArgument {
      return .reject(reason: refusal.message)
    }
  }
}
