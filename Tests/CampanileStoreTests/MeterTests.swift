import MetricsTestKit
import ServiceTesting
import Testing

@testable import CampanileStore

@Suite struct MeterTests {
  private func withMeter(_ body: (Store, StoreMeter, TestMetrics) async throws -> Void) async throws {
    let metrics = TestMetrics()
    let meter = StoreMeter(factory: metrics)
    try await withStore(configure: { meter.attach(to: &$0) }) { store, _ in try await body(store, meter, metrics) }
  }

  @Test func commitsAreRecorded() async throws {
    try await withMeter { store, meter, metrics in
      for number in 1...3 { try await store.insert("r\(number)") }
      let batches = try metrics.expectRecorder("campanile_store_batch_writes").values
      #expect(batches.reduce(0, +) == 3)
      let commits = try metrics.expectTimer("campanile_store_commit_seconds").values
      let transactions = try metrics.expectTimer("campanile_store_transaction_seconds").values
      #expect(commits.count == batches.count && transactions.count == batches.count)
      #expect(zip(commits, transactions).allSatisfy { $0 > 0 && $0 <= $1 })
      #expect(try metrics.expectCounter("campanile_store_failed_commits_total").totalValue == 0)
    }
  }

  @Test func collectRecordsTotalsAndSizes() async throws {
    try await withMeter { store, meter, metrics in
      try await store.insert("r1")
      await meter.collect(store, nowMs: 0)
      let writes = try metrics.expectCounter("campanile_store_writes_total")
      let before = writes.totalValue
      try await store.insert("r2")
      await meter.collect(store, nowMs: 0)
      await meter.collect(store, nowMs: 0)
      #expect(writes.totalValue == before + 1)
      #expect(try metrics.expectGauge("campanile_store_database_bytes").lastValue ?? 0 > 0)
      // The log of a server is not the store's.
      let walBytes = try metrics.expectGauge("campanile_store_wal_bytes").lastValue ?? 0
      #expect((walBytes > 0) == !TestStore.usesPostgreSQL)
      #expect(try metrics.expectGauge("campanile_store_pending_writes").lastValue == 0)
      #expect(
        try metrics.expectGauge("campanile_store_pending_writes_limit").lastValue
          == Double(store.configuration.pendingWritesMax))
    }
  }

  @Test func restartedTransactionsAreCounted() async throws {
    struct Refused: Error {}
    try await withMeter { store, meter, metrics in
      try await store.insert("r1")
      await #expect(throws: Refused.self) {
        try await store.write {
          try $0.execute("INSERT INTO rows (id, body) VALUES ('r2', 'b')")
          throw Refused()
        }
      }
      await meter.collect(store, nowMs: 0)
      #expect(try metrics.expectCounter("campanile_store_restarted_transactions_total").totalValue == 1)
      #expect(try await store.ids() == ["r1"])
    }
  }

  @Test func outboxLagIsAgeOfOldestMessage() async throws {
    try await withMeter { store, meter, metrics in
      await meter.collect(store, nowMs: 5_000)
      let lag = try metrics.expectGauge("campanile_outbox_lag_seconds")
      #expect(lag.lastValue == 0)
      for atMs: Int64 in [1_500, 4_000] {
        _ = try await store.write { try $0.enqueue(topic: "t", key: "k", payload: [1], nowMs: atMs) }
      }
      await meter.collect(store, nowMs: 5_000)
      #expect(lag.lastValue == 3.5)
      #expect(try metrics.expectGauge("campanile_outbox_pending_messages").lastValue == 2)
      // The clock was set back.
      await meter.collect(store, nowMs: 1_000)
      #expect(lag.lastValue == 0)
    }
  }
}
