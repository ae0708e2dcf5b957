import CampanileAPI
import CampanileRPC
import CampanileServer
import CampanileService
import Logging
import Notifications

/// `campanile-notifications`: buckets, notifications and unread state.
enum NotificationsProgram {
  private static let changesMax = "watch-changes-max"
  private static let changeAgeHours = "watch-change-age-hours"
  private static let bucketsMax = "buckets-per-user-max"
  private static let sharedBucketsMax = "shared-buckets-per-user-max"
  private static let notificationsMax = "notifications-per-user-max"
  private static let userWatchesMax = "watches-per-user-max"
  private static let watchesMax = "watches-max"
  private static let actionAddresses = "action-allowed-addresses"
  private static let actionTimeoutMs = "action-timeout-ms"
  private static let activitiesAddress = "activities-address"
  private static let alertCategory = "alert-category"

  /// Runs the program with the process's arguments, then exits the process.
  static func main() async {
    let settings: [Setting] = [
      .int(changesMax, default: 1_000_000, in: 1000...100_000_000, help: "changes retained for watches to resume from"),
      .int(changeAgeHours, default: 168, in: 1...8760, help: "retention of these changes in hours"),
      .int(bucketsMax, default: 1000, in: 1...100_000, help: "maximum number of own buckets per user"),
      .int(sharedBucketsMax, default: 1000, in: 1...100_000, help: "maximum number of joined buckets per user"),
      .int(notificationsMax, default: 1_000_000, in: 1...100_000_000, help: "maximum number of notifications per user"),
      .int(userWatchesMax, default: 100, in: 1...10_000, help: "maximum number of open watches per user"),
      .int(
        watchesMax, default: 10_000, in: 1...1_000_000,
        help: "maximum number of open watches; a quarter is reserved for users without one"),
      .string(
        actionAddresses, default: "",
        help: "non-public address blocks that actions may call, such as 10.1.0.0/16,fd00::/8"),
      .int(actionTimeoutMs, default: 10_000, in: 100...60_000, help: "timeout of an action's request"),
      .string(
        activitiesAddress, default: "",
        help: "HOST:PORT[,...] of campanile-activities, which pushes to devices; empty disables pushing"),
      .string(
        alertCategory, default: NotificationsComponent.alertCategoryDefault,
        help: "category of pushes, which selects the app's content extension and its buttons; empty for none"),
    ]
    var specification = ServiceSpecification.program(
      name: "campanile-notifications", defaultPort: 7401,
      settings: settings + ServiceClientConfiguration.all + ProgramStore.settings)
    specification.task = ProgramStore.task(
      "notifications", NotificationsMigrations.all, omitting: NotificationsMigrations.rebuiltTables,
      finishing: [NotificationsMigrations.rebuildSQL])
    await ServiceMain.main(specification) { context in try await open(context) }
  }

  private static func open(_ context: ServiceContext) async throws -> ServiceComponents {
    let settings = context.settings
    var limits = NotificationsLimits()
    limits.bucketsPerUserMax = try settings.int(bucketsMax)
    limits.sharedBucketsPerUserMax = try settings.int(sharedBucketsMax)
    limits.notificationsPerUserMax = try settings.int(notificationsMax)
    limits.watchesPerUserMax = try settings.int(userWatchesMax)
    limits.watchesMax = try settings.int(watchesMax)
    var retention = ChangeRetention()
    retention.rowsMax = Int64(try settings.int(changesMax))
    retention.ageMaxMs = Int64(try settings.int(changeAgeHours)) * 3_600_000
    let store = try ProgramStore("notifications", context)
    let activities = try ServiceClientConfiguration.client(activitiesAddress, settings)
    let component = try await NotificationsComponent(
      store: store.configuration, limits: limits, retention: retention, actions: try actionLimits(settings),
      pusher: activities.map { DevicePusher($0) }, alertCategory: try settings.string(alertCategory),
      nowMs: { WallClock.nowMs() },
      tracer: context.tracer, log: { [logger = context.logger] in logger.info("\($0)") })
    store.opened(component.store)
    context.metrics.addGauge("campanile_watches_open") { component.watchCount }
    var components = ServiceComponents(rpcServices: component.services, descriptorSet: DescriptorSet.serializedBytes)
    components.backgroundServices = [
      PeriodicService("maintenance", interval: .seconds(60), logger: context.logger) {
        try await component.maintain(nowMs: WallClock.nowMs())
      },
      PeriodicService("timers", interval: .milliseconds(1), logger: context.logger) { await component.runTimers() },
      // The interval batches a burst of commits.
      PeriodicService("search index", interval: .milliseconds(50), logger: context.logger) {
        try await component.indexForSearch()
      },
    ]
    if activities != nil {
      let logger = context.logger
      components.backgroundServices.append(
        PeriodicService("pushing", interval: .milliseconds(1), logger: logger) {
          await component.runPushing { logger.warning("\($0)") }
        })
    }
    components.backgroundServices = [
      SoleServices(store: component.store, services: components.backgroundServices)
    ]
    components.beginDrain = { component.endWatches() }
    components.close = {
      await activities?.close()
      await component.close()
    }
    return components
  }

  private static func actionLimits(_ settings: Settings) throws -> ActionLimits {
    var limits = ActionLimits()
    limits.timeoutMs = Int64(try settings.int(actionTimeoutMs))
    limits.allowedAddressBlocks = try settings.string(actionAddresses).split(separator: ",").map { block in
      String(block.filter { $0 != " " })
    }
    return limits
  }
}
