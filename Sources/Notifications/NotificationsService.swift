public import CampanileAPI
import CampanileRPC
import CampanileService

/// Serves `campanile.notifications.v1.NotificationsService`. Everything belongs to the calling user.
///
/// Validates requests and passes them to the repository, whose commits wake the watches.
public struct NotificationsService: NotificationsServiceProtocol {
  let repository: any NotificationsRepository
  let limits: NotificationsLimits
  let hub: WatchHub
  let actions: ActionRunner

  /// The number of open watches.
  public var watchCount: Int { hub.count }

  /// Ends all watches with UNAVAILABLE, reason `SERVICE_STOPPING`, so that a drain does not have to wait for them.
  public func endWatches() { hub.close() }

  var watch: NotificationWatch {
    NotificationWatch(repository: repository, hub: hub, pageRows: limits.watchPageRows)
  }
}
