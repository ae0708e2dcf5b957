import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Applies messages of devices to their user's notifications, in order for each user, until the other service has
/// accepted them. Delivery is at least once; both changes are idempotent.
struct UpdateRelay: Sendable {
  private let relay: OutboxRelay
  private let signal: WakeSignal

  /// `signal` is signalled by every commit.
  init(store: Store, link: any NotificationsLinking, environment: RelayEnvironment, signal: WakeSignal) {
    self.signal = signal
    var limits = OutboxRelay.Limits()
    // The other service may be down for long; never give up because of that.
    limits.attemptsMax = .max
    relay = OutboxRelay(store: store, limits: limits, environment: environment) { message in
      guard message.topic == SQLiteSyncRepository.applyTopic else { return .reject(reason: "unknown topic") }
      return try await Self.apply(message, link)
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

  private static func apply(
    _ message: OutboxMessage, _ link: any NotificationsLinking
  ) async throws -> OutboxDelivery {
    let update = try StoredJSON.message(SyncUpdateMessage.self, message.payload, "a message")
    do {
      switch update.type {
      case .notificationRead: try await link.markRead(update.entityId, user: message.key)
      case .notificationDeleted: try await link.delete(update.entityId, user: message.key)
      default: return .reject(reason: "the message does not concern a notification")
      }
      return .delivered
    } catch let refusal as RPCError where refusal.code == .invalidArgument || refusal.code == .permissionDenied {
      return .reject(reason: refusal.message)
    }
  }
}
