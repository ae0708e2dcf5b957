import CampanileRuntime
import CampanileStore

/// A program's store: a file in its data folder, with the durability of `--durability` and with metrics.
struct ProgramStore: Sendable {
  /// The configuration with which to open the store.
  var configuration: StoreConfiguration
  private let meter: StoreMeter
  private let metrics: MetricsRegistry

  /// - Parameter name: The file's name without `.sqlite`.
  init(_ name: String, _ context: ServiceContext) throws {
    let settings = context.settings
    configuration = StoreConfiguration(path: Self.path(name, dataDir: try settings.string(CommonConfiguration.dataDir)))
    configuration.durability = try settings.string(CommonConfiguration.durability) == "normal" ? .normal : .full
    metrics = context.metrics
    meter = StoreMeter(factory: metrics)
    meter.attach(to: &configuration)
  }

  /// Exports the metrics of the opened store: every scrape reads them from it.
  func opened(_ store: Store) {
    metrics.addCollector { [meter] in await meter.collect(store, nowMs: WallClock.nowMs()) }
  }

  /// Returns the planned migrations of the file, for `ServiceSpecification.planMigrations`.
  static func plan(_ name: String, _ migrations: [Migration]) -> @Sendable (String) throws -> String {
    { dataDir in try Store.migrationPlan(path: path(name, dataDir: dataDir), migrations: migrations).text }
  }

  private static func path(_ name: String, dataDir: String) -> String { "\(dataDir)/\(name).sqlite" }
}
