public import CampanileRuntime
public import CampanileStore

/// The store of a program: a file in its data folder, kept as `--durability` says, with its metrics.
public struct ProgramStore: Sendable {
  /// What the store is opened with.
  public var configuration: StoreConfiguration
  private let meter: StoreMeter
  private let metrics: MetricsRegistry

  /// - Parameter name: of the file, without `.sqlite`.
  public init(_ name: String, _ context: ServiceContext) throws {
    let settings = context.settings
    configuration = StoreConfiguration(path: Self.path(name, dataDir: try settings.string(CommonSettings.dataDir)))
    configuration.durability = try settings.string(CommonSettings.durability) == "normal" ? .normal : .full
    metrics = context.metrics
    meter = StoreMeter(factory: metrics)
    meter.attach(to: &configuration)
  }

  /// The store is open: each look at the metrics asks it, from now on.
  public func opened(_ store: Store) {
    metrics.addCollector { [meter] in meter.collect(store, nowMs: WallClock.nowMs()) }
  }

  /// What a start would change in the file, for `ServiceSpecification.planMigrations`.
  public static func plan(_ name: String, _ migrations: [Migration]) -> @Sendable (String) throws -> String {
    { dataDir in try Store.migrationPlan(path: path(name, dataDir: dataDir), migrations: migrations).text }
  }

  private static func path(_ name: String, dataDir: String) -> String { "\(dataDir)/\(name).sqlite" }
}
