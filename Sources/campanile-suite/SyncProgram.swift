import CampanileAPI
import CampanileRPC
import CampanileServer
import CampanileService
import CampanileStore
import Logging
import Metrics
import Sync

/// `campanile-sync`: versioned JSON files, and messages between the devices of a user.
enum SyncProgram {
  private static let notificationsAddress = "notifications-address"
  private static let activitiesAddress = "activities-address"
  private static let exportedMax = "exported-notifications-max"
  private static let contentBytesMax = "content-bytes-max"
  private static let userBytesMax = "user-bytes-max"
  private static let zoneBytesMax = "zone-bytes-max"
  private static let revisionsMax = "revisions-max"
  private static let historyDays = "history-days"
  private static let messageDays = "message-days"
  private static let packContents = "pack-contents"
  private static let userWatchesMax = "watches-per-user-max"
  private static let watchesMax = "watches-max"

  /// Runs the program with the process's arguments, then exits the process.
  static func main() async {
    let settings: [Setting] = [
      .string(
        notificationsAddress, default: "",
        help: "HOST:PORT[,...] of campanile-notifications, whose notifications to export; empty disables it"),
      .string(
        activitiesAddress, default: "",
        help: "HOST:PORT[,...] of campanile-activities, which wakes devices when data change; empty disables it"),
      .int(exportedMax, default: 150, in: 0...1000, help: "newest notifications per exported file"),
      .int(contentBytesMax, default: 250_000_000, in: 1...2_000_000_000, help: "maximum bytes of one content"),
      .int(userBytesMax, default: 10_000_000_000, in: 1...1_000_000_000_000, help: "quota of one user, in bytes"),
      .int(zoneBytesMax, default: 5_000_000_000, in: 1...1_000_000_000_000, help: "quota of one zone, in bytes"),
      .int(revisionsMax, default: 100, in: 1...10_000_000, help: "retained revisions per zone and versions per asset"),
      .int(historyDays, default: 30, in: 1...3650, help: "retention of replaced versions in days"),
      .int(messageDays, default: 7, in: 1...365, help: "retention of undelivered messages in days"),
      .bool(packContents, default: false, help: "store contents compressed with zlib: smaller but slower"),
      .int(userWatchesMax, default: 100, in: 1...10_000, help: "maximum number of open watches per user"),
      .int(
        watchesMax, default: 10_000, in: 1...1_000_000,
        help: "maximum number of open watches; a quarter is reserved for users without one"),
    ]
    var specification = ServiceSpecification.program(
      name: "campanile-sync", defaultPort: 7403,
      settings: settings + ServiceClientConfiguration.all + ProgramStore.settings)
    specification.task = ProgramStore.task(
      "sync", SyncMigrations.all, omitting: SyncMove.unmovedTables, finishing: SyncMove.finishing,
      contents: SyncMove.copyContents)
    await ServiceMain.main(specification) { context in try await open(context) }
  }

  private static func open(_ context: ServiceContext) async throws -> ServiceComponents {
    let logger = context.logger
    let notifications = try ServiceClientConfiguration.client(notificationsAddress, context.settings)
    let activities = try ServiceClientConfiguration.client(activitiesAddress, context.settings)
    let store = try ProgramStore("sync", context)
    let component = try await SyncComponent(
      try configuration(context.settings, store.configuration), link: notifications.map { NotificationsLink($0) },
      wakeLink: activities.map { WakeLink($0) }, nowMs: { WallClock.nowMs() }, tracer: context.tracer,
      log: { logger.warning("\($0)") }, events: SyncMeter().record)
    store.opened(component.store)
    context.metrics.addGauge("campanile_watches_open") { component.watchCount }
    var components = ServiceComponents(rpcServices: component.services, descriptorSet: DescriptorSet.serializedBytes)
    components.backgroundServices = [
      PeriodicService("maintenance", interval: .seconds(60), logger: logger) {
        try await component.maintain(nowMs: WallClock.nowMs())
        report(try await component.usage())
      },
      PeriodicService("contents", interval: .milliseconds(250), logger: logger) {
        try await component.settleContents()
      },
    ]
    if notifications != nil || activities != nil {
      components.backgroundServices.append(
        PeriodicService("exchange", interval: .milliseconds(1), logger: logger) { await component.runExchange() })
    }
    components.backgroundServices = [
      SoleServices(store: component.store, services: components.backgroundServices)
    ]
    if component.store.isShared {
      components.backgroundServices.append(
        PeriodicService("presence", interval: .milliseconds(1), logger: logger) { await component.runPresence() })
    }
    components.beginDrain = { component.endWatches() }
    components.close = {
      await notifications?.close()
      await activities?.close()
      await component.close()
    }
    return components
  }

  /// Records the quota warnings and the stored bytes.
  private static func report(_ usage: SyncUsage) {
    Gauge(label: "campanile_sync_quota_warnings", dimensions: [("of", "user")]).record(usage.usersWarned)
    Gauge(label: "campanile_sync_quota_warnings", dimensions: [("of", "zone")]).record(usage.zonesWarned)
    Gauge(label: "campanile_sync_stored_bytes").record(usage.storedBytes)
    Gauge(label: "campanile_sync_open_uploads").record(usage.openUploads)
    Gauge(label: "campanile_sync_overdue_exports").record(usage.overdueExports)
  }

  private static func configuration(_ settings: Settings, _ store: StoreConfiguration) throws -> SyncConfiguration {
    let dataDir = try settings.string(CommonConfiguration.dataDir)
    var configuration = SyncConfiguration(store: store, contentsFolder: SyncMove.contentsFolder(in: dataDir))
    configuration.packsContents = try settings.bool(packContents)
    configuration.exportedNotificationsMax = try settings.int(exportedMax)
    configuration.limits.contentBytesMax = Int64(try settings.int(contentBytesMax))
    configuration.limits.userBytesMax = Int64(try settings.int(userBytesMax))
    configuration.limits.zoneBytesMax = Int64(try settings.int(zoneBytesMax))
    configuration.limits.revisionsMax = Int64(try settings.int(revisionsMax))
    configuration.limits.historyAgeMaxMs = Int64(try settings.int(historyDays)) * 86_400_000
    configuration.limits.messageAgeMaxMs = Int64(try settings.int(messageDays)) * 86_400_000
    configuration.limits.watchesPerUserMax = try settings.int(userWatchesMax)
    configuration.limits.watchesMax = try settings.int(watchesMax)
    return configuration
  }
}
