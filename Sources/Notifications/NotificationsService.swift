public import CampanileAPI
import CampanileRPC
import CampanileService

/// Serves `campanile.notifications.v1.NotificationsService`: checks requests and lets the repository act, whose
/// commits wake the watches. Everything belongs to the calling user.
public struct NotificationsService: NotificationsServiceProtocol {
  let repository: any NotificationsRepository
  let limits: NotificationsLimits
  let hub: WatchHub
  let actions: ActionRunner

  /// Watches that are open now.
  public var watchCount: Int { hub.count }

  /// Ends all watches with UNAVAILABLE, reason `SERVICE_STOPPING`, so that a drain need not wait for them.
  public func endWatches() { hub.close() }

  var watch: NotificationWatch {
    NotificationWatch(repository: repository, hub: hub, pageRows: limits.watchPageRows)
  }
}
