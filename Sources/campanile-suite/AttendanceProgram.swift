import Attendance
import CampanileAPI
import CampanileRPC
import CampanileServer
import CampanileStore
import Logging

/// `campanile-attendance`: members, meetings, attendance and statistics of a lodge.
enum AttendanceProgram {
  private static let timeZone = "time-zone"
  private static let sessionHours = "session-hours"
  private static let sessionDaysMax = "session-days-max"
  private static let nameOnlyLogin = "allow-name-only-login"
  private static let membersMax = "members-max"
  private static let watchesMax = "watches-max"
  private static let notificationsAddress = "notifications-address"
  private static let activitiesAddress = "activities-address"

  /// Runs the program with the process's arguments, then exits the process.
  static func main() async {
    let settings: [Setting] = [
      .string(
        timeZone, default: "Europe/Rome",
        help: "initial IANA time zone of the lodge's days; change it later with UpdateLodgeSettings"),
      .int(sessionHours, default: 8, in: 1...720, help: "lifetime of a session after its last renewal, in hours"),
      .int(
        sessionDaysMax, default: 30, in: 1...366, help: "maximum lifetime of a session after login, in days"),
      .bool(
        nameOnlyLogin, default: false,
        help: "let members without a PIN log in by their name alone; never enable it on an open network"),
      .int(membersMax, default: 20_000, in: 1...20_000, help: "maximum number of members"),
      .int(
        watchesMax, default: 10_000, in: 1...1_000_000,
        help: "maximum number of open watches; a quarter is reserved for users without one"),
      .string(
        notificationsAddress, default: "",
        help: "HOST:PORT[,...] of campanile-notifications, which notifies members; empty disables notices"),
      .string(
        activitiesAddress, default: "",
        help: "HOST:PORT[,...] of campanile-activities, which reloads widgets when meetings change; empty disables it"),
    ]
    var specification = ServiceSpecification.program(
      name: "campanile-attendance", defaultPort: 7404,
      settings: settings + ServiceClientConfiguration.all + ProgramStore.settings)
    specification.task = ProgramStore.task("attendance", AttendanceMigrations.all)
    await ServiceMain.main(specification) { context in try await open(context) }
  }

  private static func open(_ context: ServiceContext) async throws -> ServiceComponents {
    let settings = context.settings
    var limits = AttendanceLimits()
    limits.membersMax = try settings.int(membersMax)
    limits.watchesMax = try settings.int(watchesMax)
    var lifetime = SessionLifetime()
    lifetime.idleMs = Int64(try settings.int(sessionHours)) * 3_600_000
    lifetime.absoluteMs = Int64(try settings.int(sessionDaysMax)) * 24 * 3_600_000
    lifetime.allowsNameOnly = try settings.bool(nameOnlyLogin)
    if lifetime.allowsNameOnly {
      context.logger.warning(
        "members without a PIN log in by their name alone, so anyone who knows a name can act as that member",
        metadata: ["setting": "\(nameOnlyLogin)"])
    }
    var store = try ProgramStore("attendance", context)
    // The indexes hold millions of attendances: a commit of 64 records touches about forty pages all over the file.
    store.configuration.writerCacheKiB = 16_384
    let notifications = try ServiceClientConfiguration.client(notificationsAddress, settings)
    let activities = try ServiceClientConfiguration.client(activitiesAddress, settings)
    let component = try await AttendanceComponent(
      store: store.configuration, limits: limits, lifetime: lifetime, timeZone: try settings.string(timeZone),
      notices: notifications.map { NoticeSender($0) }, widgets: activities.map { WidgetSender($0) },
      nowMs: { WallClock.nowMs() }, tracer: context.tracer)
    store.opened(component.store)
    context.metrics.addGauge("campanile_watches_open") { component.watchCount }
    context.metrics.addTotals("campanile_login_failures_total") {
      component.loginFailures.map { ([("outcome", $0.outcome)], $0.total) }
    }
    context.metrics.addGauge("campanile_login_locked_members") { await component.lockedMemberCount() }
    var components = ServiceComponents(rpcServices: component.services, descriptorSet: DescriptorSet.serializedBytes)
    components.backgroundServices = [
      PeriodicService("maintenance", interval: .seconds(60), logger: context.logger) {
        try await component.maintain(nowMs: WallClock.nowMs())
      }
    ]
    if notifications != nil || activities != nil {
      let logger = context.logger
      components.backgroundServices.append(
        PeriodicService("notices", interval: .milliseconds(1), logger: logger) {
          await component.runNotices { logger.warning("\($0)") }
        })
    }
    components.backgroundServices = [
      SoleServices(store: component.store, services: components.backgroundServices)
    ]
    components.beginDrain = { component.endWatches() }
    components.close = {
      await notifications?.close()
      await activities?.close()
      await component.close()
    }
    return components
  }
}
