public import CampanileClient

extension Campanile {
  public var notifications: NotificationsClients { NotificationsClients(self) }
}

/// The clients of Notifications.
public struct NotificationsClients: Sendable {
  private let campanile: Campanile
  init(_ campanile: Campanile) { self.campanile = campanile }

  public var service: NotificationsServiceClient { .init(campanile.caller) }
  public var sharing: SharingServiceClient { .init(campanile.caller) }
  public var automation: AutomationServiceClient { .init(campanile.caller) }
  public var transfer: TransferServiceClient { .init(campanile.caller) }

  /// Returns the changes of the user's buckets and notifications.
  public func watch(
    _ request: WatchNotificationsRequest = .init()
  ) -> Watch<WatchNotificationsRequest, WatchNotificationsResponse> {
    campanile.watch(NotificationsServiceMethods.watchNotifications, request)
  }
}

extension WatchNotificationsRequest: WatchRequest {}
extension WatchNotificationsResponse: WatchResponse {
  public var kind: WatchResponseKind<NotificationChange> {
    switch event {
    case .started: .started
    case .change(let change): .change(change)
    case nil: .unknown
    }
  }
}
