import CampanileAPI
import CampanileRPC
import CampanileService
import CampanileStore

/// Tells the pushing service each user's unread summary after it has changed.
///
/// The outbox holds one message for a user, without content; what is sent is the summary as it is at that moment, so that
/// changes which come faster than they can be told are told together.
struct SummaryRelay: Sendable {
  private let relay: OutboxRelay
  private let bell: WatchBell

  /// `bell` is rung by every commit.
  init(
    repository: SQLiteNotificationsRepository, pusher: any DevicePushing, environment: RelayEnvironment,
    bell: WatchBell
  ) {
    self.bell = bell
    var limits = OutboxRelay.Limits()
    // A summary is never given up: at most one waits for each user.
    limits.attemptsMax = .max
    limits.parallelKeysMax = 16
    relay = OutboxRelay(store: repository.store, limits: limits, environment: environment) { message in
      guard message.topic == CommitBoard.summaryTopic else { return .reject(reason: "unknown topic") }
      return try await Self.deliver(message.key, repository, pusher)
    }
  }

  /// Runs until the task is cancelled.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await relay.run() }
      group.addTask { while (try? await bell.wait()) != nil { relay.wake() } }
    }
  }

  func deliverDue() async throws -> OutboxRelay.Round { try await relay.deliverDue() }

  private static func deliver(
    _ user: String, _ repository: SQLiteNotificationsRepository, _ pusher: any DevicePushing
  ) async throws -> OutboxDelivery {
    var request = PutUnreadSummaryRequest()
    request.userId = user
    // Read before the summary: one that holds more than its number says is only followed by another.
    request.sequence = try repository.lastChange()
    request.summary = try repository.unreadSummary(user: user)
    do {
      let response = try await pusher.put(request)
      // More is known of there than has happened here: this store was restored from a backup, and is right all the same.
      guard !response.accepted, response.knownSequence > request.sequence else { return .delivered }
      request.sequence = response.knownSequence + 1
      _ = try await pusher.put(request)
      return .delivered
    } catch let refusal as RPCError where refusal.code == .invalidArgument {
      return .reject(reason: refusal.message)
    }
  }
}
