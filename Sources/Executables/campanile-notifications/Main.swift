import CampanileRuntime
import CampanileStore
import Notifications

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// `campanile-notifications`: buckets, notifications and unread state.
@main
enum Main {
  private static let changesMax = "watch-changes-max"
  private static let changeAgeHours = "watch-change-age-hours"
  private static let bucketsMax = "buckets-per-user-max"

  static func main() async {
    let settings: [Setting] = [
      .int(changesMax, default: 1_000_000, in: 1000...100_000_000, help: "changes kept for watches to resume from"),
      .int(changeAgeHours, default: 168, in: 1...8760, help: "how long changes are kept for watches"),
      .int(bucketsMax, default: 1000, in: 1...100_000, help: "buckets a user may have"),
    ]
    await ServiceMain("campanile-notifications", defaultPort: 7401, settings: settings).run { environment in
      let settings = environment.settings
      var limits = NotificationsLimits()
      limits.changesMax = try settings.int(changesMax)
      limits.changeAgeMsMax = Int64(try settings.int(changeAgeHours)) * 3_600_000
      limits.bucketsPerUserMax = try settings.int(bucketsMax)
      var store = StoreConfiguration(path: "\(try settings.string(CommonSettings.dataDir))/notifications.sqlite")
      store.durability = try settings.string(CommonSettings.durability) == "normal" ? .normal : .full
      let nowMs: @Sendable () -> Int64 = {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
      }
      let component = try await NotificationsComponent(
        store: store, limits: limits, nowMs: nowMs, random: { UInt64.random(in: .min ... .max) })
      return ServiceComponents(
        rpcServices: [component.service],
        backgroundServices: [
          PeriodicService("maintenance", intervalMs: 60_000, logger: environment.logger) {
            try await component.maintain(nowMs: nowMs())
          }
        ],
        beginDrain: { component.endWatches() }, close: { await component.close() })
    }
  }
}
