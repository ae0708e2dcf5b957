public import CoreMetrics
import Synchronization

/// Tells a store's commits, queue, files and outbox to swift-metrics.
///
/// For every commit: `campanile_store_commit_seconds` (the wait for the disk), `campanile_store_transaction_seconds` and
/// `campanile_store_batch_writes` (writes that shared it), histograms; failed ones count in
/// `campanile_store_failed_commits_total`. When it is asked to collect: `campanile_store_pending_writes` beside
/// `campanile_store_pending_writes_limit`, `campanile_store_overloaded_writes_total`, `campanile_store_writes_total`,
/// `campanile_store_database_bytes`, `campanile_store_wal_bytes`, `campanile_store_readers`,
/// `campanile_store_reader_waits_total`, `campanile_store_reopens_total`, and of the outbox
/// `campanile_outbox_pending_messages`, `campanile_outbox_dead_messages` and `campanile_outbox_lag_seconds` (the age of the
/// oldest message that waits; 0 without one).
public final class StoreMeter: Sendable {
  private let factory: any MetricsFactory
  private let commitSeconds: Timer
  private let transactionSeconds: Timer
  private let batchWrites: Recorder
  private let failedCommits: Counter
  /// What was told of each total so far: counters take differences.
  private let told = Mutex<[String: Int64]>([:])

  public init(factory: any MetricsFactory) {
    self.factory = factory
    commitSeconds = Timer(label: "campanile_store_commit_seconds", dimensions: [], factory: factory)
    transactionSeconds = Timer(label: "campanile_store_transaction_seconds", dimensions: [], factory: factory)
    batchWrites = Recorder(label: "campanile_store_batch_writes", dimensions: [], aggregate: true, factory: factory)
    failedCommits = Counter(label: "campanile_store_failed_commits_total", dimensions: [], factory: factory)
  }

  /// Has the store that is opened with this configuration tell its commits, besides whoever is told already.
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

  /// Tells what the store has now. Reads the outbox's counters from the database; what cannot be read is left as it was.
  public func collect(_ store: Store, nowMs: Int64) {
    let now = store.metrics()
    gauge("campanile_store_pending_writes", Int64(now.pendingWrites))
    gauge("campanile_store_pending_writes_limit", Int64(store.configuration.pendingWritesMax))
    gauge("campanile_store_database_bytes", now.databaseBytes)
    gauge("campanile_store_wal_bytes", now.walBytes)
    gauge("campanile_store_readers", Int64(now.readersOpen))
    total("campanile_store_writes_total", now.writes)
    total("campanile_store_failed_writes_total", now.failedWrites)
    total("campanile_store_overloaded_writes_total", now.overloadedWrites)
    total("campanile_store_reader_waits_total", now.readerWaits)
    total("campanile_store_reopens_total", now.reopens)
    guard let outbox = try? store.outboxCounts() else { return }
    gauge("campanile_outbox_pending_messages", Int64(outbox.pending))
    gauge("campanile_outbox_dead_messages", Int64(outbox.deadLetters))
    let lagMs = outbox.oldestPendingMs.map { max(0, nowMs - $0) } ?? 0
    Gauge(label: "campanile_outbox_lag_seconds", dimensions: [], factory: factory).record(Double(lagMs) / 1_000)
  }

  private func gauge(_ name: String, _ value: Int64) {
    Gauge(label: name, dimensions: [], factory: factory).record(value)
  }

  private func total(_ name: String, _ value: Int64) {
    let added = told.withLock { told in
      defer { told[name] = value }
      return value - told[name, default: 0]
    }
    // Also with nothing to add: a counter that appears with its first event has no rate for it.
    Counter(label: name, dimensions: [], factory: factory).increment(by: max(0, added))
  }
}
