public import CoreMetrics
import Synchronization

/// Exports a store's commits, queue, files and outbox to swift-metrics.
///
/// Histograms, recorded for every commit: `campanile_store_commit_seconds` (the wait for the disk),
/// `campanile_store_transaction_seconds` and `campanile_store_batch_writes` (writes per commit). Failed commits are
/// counted in `campanile_store_failed_commits_total`.
///
/// Gauges and counters, recorded by `collect`: `campanile_store_pending_writes` and
/// `campanile_store_pending_writes_limit`, `campanile_store_writes_total`, `campanile_store_failed_writes_total`,
/// `campanile_store_restarted_transactions_total`, `campanile_store_overloaded_writes_total`,
/// `campanile_store_database_bytes`, `campanile_store_wal_bytes`, `campanile_store_readers`,
/// `campanile_store_reader_waits_total`, `campanile_store_reopens_total`.
///
/// Of the outbox: `campanile_outbox_pending_messages`, `campanile_outbox_dead_messages` and
/// `campanile_outbox_lag_seconds` (the age of the oldest pending message; 0 if there is none).
public final class StoreMeter: Sendable {
  private let factory: any MetricsFactory
  private let commitSeconds: Timer
  private let transactionSeconds: Timer
  private let batchWrites: Recorder
  private let failedCommits: Counter
  /// The last exported value of each total: counters are incremented by the difference.
  private let reported = Mutex<[String: Int64]>([:])

  public init(factory: any MetricsFactory) {
    self.factory = factory
    commitSeconds = Timer(label: "campanile_store_commit_seconds", dimensions: [], factory: factory)
    transactionSeconds = Timer(label: "campanile_store_transaction_seconds", dimensions: [], factory: factory)
    batchWrites = Recorder(label: "campanile_store_batch_writes", dimensions: [], aggregate: true, factory: factory)
    failedCommits = Counter(label: "campanile_store_failed_commits_total", dimensions: [], factory: factory)
  }

  /// Observes the commits of stores opened with this configuration, in addition to its current observer.
  public func attach(to configuration: inout StoreConfiguration) {
    let earlier = configuration.observer
    configuration.observer = { commit in
      self.record(commit)
      earlier?(commit)
    }
  }

  private func record(_ commit: CommitObservation) {
    guard commit.failure == nil else { return failedCommits.increment() }
    commitSeconds.recordNanoseconds(commit.commitNs)
    transactionSeconds.recordNanoseconds(commit.transactionNs)
    batchWrites.record(commit.writes)
  }

  /// Exports the store's current state. Reads the outbox counters from the database and skips them if that fails.
  public func collect(_ store: Store, nowMs: Int64) async {
    let now = store.metrics()
    gauge("campanile_store_pending_writes", Int64(now.pendingWrites))
    gauge("campanile_store_pending_writes_limit", Int64(store.configuration.pendingWritesMax))
    gauge("campanile_store_database_bytes", now.databaseBytes)
    gauge("campanile_store_wal_bytes", now.walBytes)
    gauge("campanile_store_readers", Int64(now.readersOpen))
    total("campanile_store_writes_total", now.writes)
    total("campanile_store_failed_writes_total", now.failedWrites)
    total("campanile_store_restarted_transactions_total", now.restartedTransactions)
    total("campanile_store_overloaded_writes_total", now.overloadedWrites)
    total("campanile_store_reader_waits_total", now.readerWaits)
    total("campanile_store_reopens_total", now.reopens)
    guard let outbox = try? await store.outboxCounts() else { return }
    gauge("campanile_outbox_pending_messages", Int64(outbox.pending))
    gauge("campanile_outbox_dead_messages", Int64(outbox.deadLetters))
    let lagMs = outbox.oldestPendingMs.map { max(0, nowMs - $0) } ?? 0
    Gauge(label: "campanile_outbox_lag_seconds", dimensions: [], factory: factory).record(Double(lagMs) / 1_000)
  }

  private func gauge(_ name: String, _ value: Int64) {
    Gauge(label: name, dimensions: [], factory: factory).record(value)
  }

  private func total(_ name: String, _ value: Int64) {
    let added = reported.withLock { reported in
      defer { reported[name] = value }
      return value - reported[name, default: 0]
    }
    // Also increment by 0: a counter that first appears with its first event has no rate for that event.
    Counter(label: name, dimensions: [], factory: factory).increment(by: max(0, added))
  }
}
