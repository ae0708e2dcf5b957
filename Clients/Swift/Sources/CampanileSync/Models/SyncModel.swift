public import CampanileClient
public import Foundation
public import Observation

/// The buckets and notifications of a device's files, for a screen. It shows the stored files at once.
///
/// ```swift
/// @State var sync = SyncModel(zone)
/// List(sync.notifications) { Text($0.title) }.task { await sync.run() }
/// ```
@MainActor @Observable public final class SyncModel {
  public private(set) var buckets: [SyncBucket] = []
  /// In the order of the file: newest first.
  public private(set) var notifications: [SyncNotification] = []
  /// The time of the newest file; `nil` before the first refresh.
  public private(set) var syncedAt: Date?
  /// Whether the files may be out of date, because there is no connection.
  public private(set) var isStale = true
  /// The number of this device's messages that wait for a network.
  public private(set) var waitingCount = 0
  public private(set) var error: RPCError?

  public var unreadCount: Int { notifications.count { !$0.isRead } }

  @ObservationIgnored public let zone: SyncZone
  /// Sends messages over WatchConnectivity too, for example `{ link.send($0) }`.
  @ObservationIgnored public var companion: (@Sendable (CompanionMessage) -> Void)?
  @ObservationIgnored private var received = SyncOverlay()

  public init(_ zone: SyncZone) {
    self.zone = zone
    show()
  }

  /// Follows the files and the messages until the task is cancelled.
  public func run() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.followFiles() }
      group.addTask { await self.followMessages() }
      group.addTask { for await _ in self.zone.outbox.changes() { await self.show() } }
      await group.waitForAll()
    }
    isStale = true
  }

  /// Reads the files and the waiting messages, and returns. For background launches, watchOS, and pulling to refresh.
  public func refresh() async {
    await attempt {
      try await self.zone.receiveWaiting { await self.handle($0) }
      try await self.refreshFiles()
    }
  }

  /// Marks a notification as read: at once here, and on the user's other devices when there is a network.
  public func markRead(_ id: String) { publish(.notificationRead, id) }

  /// Deletes a notification: at once here, and on the user's other devices when there is a network.
  public func delete(_ id: String) { publish(.notificationDeleted, id) }

  /// Handles a message that came over WatchConnectivity.
  public func companionSent(_ message: CompanionMessage, source: String) async {
    await attempt { try await self.zone.receivedFromCompanion(message, source: source) { await self.handle($0) } }
  }

  private func publish(_ type: CompanionMessage.UpdateType, _ id: String) {
    do throws(RPCError) {
      let message = try zone.publish(type, entityID: id)
      _ = received.add(message)
      companion?(message)
    } catch {
      self.error = error
    }
    show()
  }

  private func followFiles() async {
    await attempt {
      try await self.refreshFiles()
      try await self.zone.follow { _ in self.filesChanged() }
    }
  }

  private func followMessages() async {
    await attempt { try await self.zone.receive { await self.handle($0) } }
  }

  private func handle(_ message: CompanionMessage) async {
    // The service writes new files after a change of notifications; `follow` reads them.
    if received.add(message) { await attempt { try await self.refreshFiles() } }
    show()
  }

  private func refreshFiles() async throws {
    try await zone.refresh()
    filesChanged()
  }

  private func filesChanged() {
    (isStale, error) = (false, nil)
    show()
  }

  private func attempt(_ work: () async throws -> Void) async {
    do {
      try await work()
    } catch is CancellationError {
    } catch {
      isStale = true
      self.error = error as? RPCError ?? RPCError(.unknown, "\(error)")
    }
  }

  private func show() {
    do throws(RPCError) {
      let waiting = try zone.waitingMessages()
      waitingCount = waiting.count
      var overlay = received
      for message in waiting { _ = overlay.add(message) }
      let notificationsFile = try zone.stored(NotificationsDataContainer.self)
      let bucketsFile = try zone.stored(BucketsDataContainer.self)
      notifications = overlay.apply(notificationsFile?.notifications ?? [])
      buckets = overlay.apply(bucketsFile?.buckets ?? [])
      syncedAt = [notificationsFile?.syncTimestamp, bucketsFile?.syncTimestamp]
        .compactMap { $0.flatMap { SyncTime.date($0) } }.max()
    } catch {
      self.error = error
    }
  }
}
