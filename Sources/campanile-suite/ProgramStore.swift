import CampanileCLI
import CampanilePostgreSQL
import CampanileServer
import CampanileStore
import Foundation

/// A program's store: a SQLite file in its data folder, or a database on the server of `--store`; with metrics.
struct ProgramStore: Sendable {
  private static let store = Setting.string(
    "store", default: "",
    help: "PostgreSQL server of the data, postgresql://USER@HOST[/DATABASE], or a file with that address; "
      + "empty: a SQLite file in the data folder")
  private static let planMigrations = Setting.bool(
    "plan-migrations", default: false, help: "print the schema migrations that a start would apply, and exit")
  private static let moveFrom = Setting.string(
    "move-from", default: "",
    help: "copy the data of another data folder or server into this empty store, and exit; see `campanile move`")
  private static let copyFrom = Setting.string(
    "copy-from", default: "",
    help: "like move-from, of a server that programs may use meanwhile; see `campanile backup`")

  private static let durability = Setting.choice(
    "durability", of: ["full", "normal"], default: "full",
    help: "durability of acknowledged writes: full survives power loss, normal a crash")

  /// The settings that every program with a store has.
  static let settings = [CommonConfiguration.dataFolder, durability, store, planMigrations, moveFrom, copyFrom]

  /// The configuration with which to open the store.
  var configuration: StoreConfiguration
  private let meter: StoreMeter
  private let metrics: MetricsRegistry
  private let server: PostgreSQLEngine?

  /// - Parameter name: The file's name without `.sqlite`, from which the database's default name is derived.
  init(_ name: String, _ context: ServiceContext) throws {
    (configuration, server) = try Self.configuration(name, context.settings)
    // Keys and contents are stored there even if the databases are not.
    if server != nil { try PrivateFolder.make(try context.settings.string(CommonConfiguration.dataDir)) }
    metrics = context.metrics
    meter = StoreMeter(factory: metrics)
    meter.attach(to: &configuration)
  }

  /// Exports the metrics of the opened store: every scrape reads them from it.
  func opened(_ store: Store) {
    metrics.addCollector { [meter] in await meter.collect(store, nowMs: WallClock.nowMs()) }
    guard let server else { return }
    let counters: [(String, @Sendable (PostgreSQLMetrics) -> Int64)] = [
      ("campanile_store_flushes_total", { $0.flushes }),
      ("campanile_store_round_trips_total", { $0.roundTrips }),
      ("campanile_store_reconnects_total", { $0.reconnects }),
      ("campanile_store_repeated_reads_total", { $0.retries }),
      ("campanile_store_recovered_commits_total", { $0.recoveredCommits }),
      ("campanile_store_lost_commits_total", { $0.lostCommits }),
    ]
    for (name, read) in counters {
      metrics.addTotals(name) { [([], Int(read(server.metrics)))] }
    }
    let gauges: [(String, @Sendable (ServerCondition) -> Double?)] = [
      ("campanile_store_replaying_standbys", { $0.replayingStandbys.map { Double($0) } }),
      ("campanile_store_standby_lag_bytes", { Double($0.lagBytes) }),
      ("campanile_store_vacant_leases", { Double($0.vacantLeases) }),
      ("campanile_store_clock_skew_seconds", { Double($0.clockSkewMs) / 1_000 }),
    ]
    for (name, read) in gauges {
      metrics.addGauges(name) { server.condition.flatMap(read).map { [([], $0)] } ?? [] }
    }
  }

  private static func configuration(
    _ name: String, _ settings: Settings
  ) throws -> (store: StoreConfiguration, server: PostgreSQLEngine?) {
    let folder = try settings.string(CommonConfiguration.dataDir)
    var configuration = StoreConfiguration(path: "\(folder)/\(name).sqlite")
    configuration.durability = try settings.string(durability.key) == "normal" ? .normal : .full
    let address = try settings.string(store.key)
    guard !address.isEmpty else { return (configuration, nil) }
    let server = try server(address, name, store)
    configuration.engine = server
    return (configuration, server)
  }

  private static func server(_ address: String, _ name: String, _ setting: Setting) throws -> PostgreSQLEngine {
    do {
      return try PostgreSQLEngine(address, setting: setting.flag, defaultDatabase: SuiteMember.database(name))
    } catch {
      let place = error.path.map { " (\($0))" } ?? ""
      throw ConfigurationError(code: .invalidValue, key: setting.key, message: error.message + place)
    }
  }
}

// MARK: Tasks on the database

/// One side of a move: a connection, and the data folder if the database is a file in it.
typealias MovedStore = (connection: any StoreConnection, dataDir: String)

extension ProgramStore {
  /// Returns the task for `ServiceSpecification.task`: the plan of migrations, or a move.
  ///
  /// - Parameters:
  ///   - omitted: See `StoreMove`.
  ///   - finishing: See `StoreMove`.
  ///   - processesSQL: See `StoreMove`.
  ///   - contents: Copies what the database does not contain, and describes it.
  static func task(
    _ name: String, _ migrations: [Migration], omitting omitted: Set<String> = [], finishing: [String] = [],
    processesSQL: String? = nil,
    contents: (@Sendable (_ source: MovedStore, _ target: MovedStore) throws -> String)? = nil
  ) -> @Sendable (Settings) throws -> String? {
    { settings in
      let target = try configuration(name, settings).store
      if try settings.bool(planMigrations.key) {
        return try Store.migrationPlan(target, migrations: migrations).text
      }
      let setting = try settings.string(moveFrom.key).isEmpty ? copyFrom : moveFrom
      let place = try settings.string(setting.key)
      guard !place.isEmpty else { return nil }
      var move = StoreMove(
        from: try source(place, name, setting), to: target, migrations: migrations, omitting: omitted,
        finishing: finishing, processesSQL: processesSQL, mayBeInUse: setting.key == copyFrom.key)
      var nextReport = ContinuousClock.now + .seconds(1)
      let folder = try settings.string(CommonConfiguration.dataDir)
      var copied = ""
      if let contents {
        move.copyContents = { source, destination in
          let result = try contents((source, place), (destination, folder))
          copied = "; \(result)"
        }
      }
      let moved = try move.run { progress in
        guard ContinuousClock.now >= nextReport else { return }
        nextReport = ContinuousClock.now + .seconds(1)
        FileHandle.standardError.write(Data("\(bar(progress)) \(progress.rows) rows\n".utf8))
      }
      guard !moved.wasComplete else { return "\(bar(moved)) moved before, and the source has not changed since" }
      return "\(bar(moved)) \(moved.rows) rows moved, and compared with their source\(copied)"
    }
  }

  private static func source(_ place: String, _ name: String, _ setting: Setting) throws -> StoreConfiguration {
    var isFolder: ObjCBool = false
    let isThere = FileManager.default.fileExists(atPath: place, isDirectory: &isFolder)
    if isThere, isFolder.boolValue { return StoreConfiguration(path: "\(place)/\(name).sqlite") }
    return StoreConfiguration(try server(place, name, setting))
  }

  private static func bar(_ progress: StoreMove.Progress) -> String {
    let width = 20
    let done = width * progress.tablesMoved / max(1, progress.tables)
    return "[\(String(repeating: "#", count: done))\(String(repeating: ".", count: width - done))] "
      + "\(progress.tablesMoved) of \(progress.tables) tables,"
  }
}
