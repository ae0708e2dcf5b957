import ArgumentParser
import CampanileStore
import Foundation
import GRDB

@main
struct StoreBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measure durable inserts and hot reads, compared with one commit per request and PostgreSQL 15.")

  @Option(help: "File to write the rows to, as JSON.") var json: String?
  @Option(help: "Rounds; every value is their median.") var rounds = 3
  @Option(help: "Seconds per insert round.") var seconds = 4
  @Option(help: "Callers in flight.") var clients = 64
  @Option(help: "Directory for the databases, on the disk to measure.") var dataDir = NSTemporaryDirectory()
  @Flag(help: "Skip PostgreSQL.") var withoutPostgresql = false

  private struct Figures {
    var group: [Double] = []
    var each: [Double] = []
    var postgres: [Double] = []
  }

  func run() async throws {
    let directory = "\(dataDir)/store-bench-\(ProcessInfo.processInfo.processIdentifier)"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var rows: [BenchRow] = []
    for order in [InsertBench.Order.ordered, .random] {
      rows += try await insertRows(order, "\(directory)/\(order.rawValue)")
    }
    rows += try await readRows("\(directory)/reads")
    print(BenchRow.table(rows))
    if let json {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try encoder.encode(rows).write(to: URL(fileURLWithPath: json))
    }
  }

  private func insertRows(_ order: InsertBench.Order, _ path: String) async throws -> [BenchRow] {
    let bench = InsertBench(clients: clients, seconds: Double(seconds))
    let store = try Store(StoreConfiguration(path: "\(path)/group.sqlite"), migrations: InsertBench.schema)
    let queue = try InsertBench.commitEachQueue("\(path)/each.sqlite")
    let peer = PostgresPeer(
      baseDirectory: NSString(string: path).deletingLastPathComponent, clients: clients, seconds: seconds)
    var figures = Figures()
    for round in 0..<max(1, rounds) {
      figures.group.append(try await bench.groupCommit(store, order, round: round))
      figures.each.append(try await bench.commitEach(queue, order, round: round))
      if !withoutPostgresql, let rate = try await peer.rate(order) { figures.postgres.append(rate) }
    }
    let metrics = store.metrics()
    await store.close()
    try queue.close()
    let group = median(figures.group)
    let name = "store/insert-\(order.rawValue)-ids"
    var rows = [
      BenchRow("\(name)/group-commit", group, "rows/s", target: 30_000),
      BenchRow("\(name)/vs-commit-each", group, "rows/s", baseline: median(figures.each), target: 4),
    ]
    if !figures.postgres.isEmpty {
      rows.append(
        BenchRow("\(name)/vs-postgresql-15", group, "rows/s", baseline: median(figures.postgres), target: 1.3))
    }
    let batch = Double(metrics.writes) / Double(max(1, metrics.commits))
    let wait = Double(metrics.commitNsTotal) / Double(max(1, metrics.commits)) / 1_000
    rows.append(BenchRow("\(name)/writes-a-commit", batch, "writes"))
    rows.append(BenchRow("\(name)/commit-wait", wait, "us"))
    return rows
  }

  private func readRows(_ path: String) async throws -> [BenchRow] {
    let bench = ReadBench(reads: 100_000)
    let file = "\(path)/reads.sqlite"
    let store = try Store(StoreConfiguration(path: file), migrations: InsertBench.schema)
    try await bench.fill(store)
    var settings = Configuration()
    settings.readonly = true
    let pool = try DatabasePool(path: file, configuration: settings)
    let queue = try DatabaseQueue(path: file, configuration: settings)
    var (single, snapshot, grdbPool, grdbOpen) = ([Double](), [Double](), [Double](), [Double]())
    for _ in 0..<max(1, rounds) {
      single.append(try bench.single(store))
      snapshot.append(try bench.snapshot(store))
      grdbPool.append(try bench.grdbPool(pool))
      grdbOpen.append(try bench.grdbOpen(queue))
    }
    try pool.close()
    try queue.close()
    await store.close()
    return [
      BenchRow("store/read-one-row", median(single), "us", .atMost, target: 6),
      BenchRow("store/read-one-row/snapshot", median(snapshot), "us", .atMost, target: 6),
      BenchRow("store/read-one-row/vs-grdb-pool", median(single), "us", baseline: median(grdbPool), .atMost),
      BenchRow("store/read-one-row/vs-grdb-open", median(single), "us", baseline: median(grdbOpen), .atMost),
    ]
  }
}
