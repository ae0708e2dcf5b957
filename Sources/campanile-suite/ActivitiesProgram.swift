import Activities
import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileServer
import CampanileService
import CampanileStore
import Logging

/// `campanile-activities`: Live Activities, push tokens, and their delivery through APNs.
enum ActivitiesProgram {
  private static let apnsEndpoint = "apns-endpoint"
  private static let apnsTrust = "apns-trust"
  private static let signingKeysDir = "signing-keys-dir"
  private static let signingTeamID = "signing-team-id"
  private static let contentStateDates = "content-state-dates"
  private static let criticalAlertApps = "critical-alert-apps"
  private static let updateSpacingMs = "update-spacing-ms"
  private static let notificationsAddress = "notifications-address"
  private static let activitiesMax = "activities-per-user-max"
  private static let tokensMax = "tokens-per-user-max"
  private static let changesMax = "watch-changes-max"
  private static let changeAgeHours = "watch-change-age-hours"
  private static let userWatchesMax = "watches-per-user-max"
  private static let watchesMax = "watches-max"

  /// Runs the program with the process's arguments, then exits the process.
  static func main() async {
    let settings: [Setting] = [
      .list(
        apnsEndpoint, default: [], maximumCount: 32,
        help: "APNs servers to use instead of Apple's, ENVIRONMENT=HOST:PORT each; a new ENVIRONMENT adds one"),
      .path(apnsTrust, help: "CA certificates (PEM) for the APNs servers (default: the system's)"),
      .path(
        signingKeysDir,
        help: "directory of .p8 signing keys, each named AuthKey_KEYID.p8 or with a KEYID.json next to it"),
      .string(signingTeamID, help: "team id of signing keys without a KEYID.json"),
      .list(
        contentStateDates, default: [], maximumCount: 1024,
        help: "date formats of apps, APP=foundation|unix|iso8601 each (default: foundation, seconds since 2001)"),
      .list(
        criticalAlertApps, default: [], maximumCount: 1024,
        help: "apps with Apple's entitlement for critical alerts; other apps get time-sensitive ones"),
      .int(
        updateSpacingMs, default: 1000, in: 0...60_000,
        help: "minimum interval between two updates of an activity; only the last one within it is pushed"),
      .string(
        notificationsAddress, default: "",
        help: "HOST:PORT[,...] of campanile-notifications, which receives delivery results; empty disables reporting"),
      .int(activitiesMax, default: 1000, in: 1...100_000, help: "maximum number of live activities per user"),
      .int(tokensMax, default: 1000, in: 1...100_000, help: "maximum number of push tokens per user"),
      .int(changesMax, default: 1_000_000, in: 1000...100_000_000, help: "changes retained for watches to resume from"),
      .int(changeAgeHours, default: 168, in: 1...8760, help: "retention of these changes in hours"),
      .int(userWatchesMax, default: 100, in: 1...10_000, help: "maximum number of open watches per user"),
      .int(
        watchesMax, default: 10_000, in: 1...1_000_000,
        help: "maximum number of open watches; a quarter is reserved for users without one"),
    ]
    var specification = ServiceSpecification.program(
      name: "campanile-activities", defaultPort: 7402,
      settings: settings + ServiceClientConfiguration.all + ProgramStore.settings)
    specification.task = ProgramStore.task("activities", ActivitiesMigrations.all)
    await ServiceMain.main(specification) { context in try await open(context) }
  }

  private static func open(_ context: ServiceContext) async throws -> ServiceComponents {
    let logger = context.logger
    let clock = ContinuousClock()
    let start = clock.now
    let notifications = try ServiceClientConfiguration.client(notificationsAddress, context.settings)
    let store = try ProgramStore("activities", context)
    let component = try await ActivitiesComponent(
      try configuration(context.settings, store.configuration), group: context.eventLoopGroup,
      environment: .init(
        nowMs: { WallClock.nowMs() },
        steadyMs: { (clock.now - start).wholeMilliseconds },
        log: { logger.warning("\($0)") }, tracer: context.tracer), reporter: notifications.map { DeliveryReporter($0) })
    store.opened(component.store)
    context.metrics.addGauge("campanile_watches_open") { component.watchCount }
    context.metrics.addTotals("campanile_apns_results_total") {
      component.apnsResults.map { ([("status", $0.status), ("reason", $0.reason)], $0.count) }
    }
    context.metrics.addTotals("campanile_push_coalesced_states_total") { [([], component.coalescedStates)] }
    var components = ServiceComponents(rpcServices: component.services, descriptorSet: DescriptorSet.serializedBytes)
    components.backgroundServices = [
      PeriodicService("maintenance", interval: .seconds(60), logger: logger) {
        try await component.maintain(nowMs: WallClock.nowMs())
      },
      PeriodicService("timers", interval: .milliseconds(1), logger: logger) { await component.runTimers() },
      PeriodicService("delivery", interval: .milliseconds(1), logger: logger) { await component.runDelivery() },
    ]
    if notifications != nil {
      components.backgroundServices.append(
        PeriodicService("reports", interval: .milliseconds(1), logger: logger) { await component.runReports() })
    }
    components.backgroundServices = [
      SoleServices(store: component.store, services: components.backgroundServices)
    ]
    if component.store.isShared {
      components.backgroundServices.append(
        PeriodicService("following", interval: .milliseconds(1), logger: logger) { await component.runFollowing() })
    }
    components.beginDrain = { component.endWatches() }
    components.close = {
      await notifications?.close()
      await component.close()
    }
    return components
  }

  private static func configuration(
    _ settings: Settings, _ store: StoreConfiguration
  ) throws -> ActivitiesConfiguration {
    let dataDir = try settings.string(CommonConfiguration.dataDir)
    var configuration = ActivitiesConfiguration(store: store, addedKeysDirectory: "\(dataDir)/signing-keys")
    try configuration.setEndpoints(try settings.list(apnsEndpoint))
    configuration.trustFile = try settings.optionalString(apnsTrust)
    configuration.signingKeysDirectory = try settings.optionalString(signingKeysDir)
    configuration.teamID = try settings.optionalString(signingTeamID)
    configuration.updateSpacingMs = Int64(try settings.int(updateSpacingMs))
    configuration.limits.activitiesPerUserMax = try settings.int(activitiesMax)
    configuration.limits.tokensPerUserMax = try settings.int(tokensMax)
    configuration.limits.watchesPerUserMax = try settings.int(userWatchesMax)
    configuration.limits.watchesMax = try settings.int(watchesMax)
    configuration.retention.rowsMax = Int64(try settings.int(changesMax))
    configuration.retention.ageMaxMs = Int64(try settings.int(changeAgeHours)) * 3_600_000
    let (formats, invalid) = ContentDates.parse(try settings.list(contentStateDates))
    if let invalid {
      throw ConfigurationError(
        code: .invalidValue, key: contentStateDates,
        message: "--\(contentStateDates): \(invalid) is not APP=foundation, APP=unix or APP=iso8601")
    }
    configuration.contentDates = formats
    configuration.criticalAlertApps = Set(try settings.list(criticalAlertApps))
    return configuration
  }
}
