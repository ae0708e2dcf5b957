import Metrics
import Sync

/// Counts exports and pushes that wake devices by their outcome, and records the sizes of the two files.
///
/// The series exist from the start, so that an alert sees the first failure as an increase.
struct SyncMeter: Sendable {
  private let exports: [ExportOutcome: Counter]
  private let wakes: [WakeOutcome: Counter]
  private let sizes: [String: Recorder]

  init() {
    func counters<Outcome: RawRepresentable<String> & CaseIterable & Hashable>(
      _ label: String, _ type: Outcome.Type
    ) -> [Outcome: Counter] {
      Dictionary(
        uniqueKeysWithValues: Outcome.allCases.map { outcome in
          let counter = Counter(label: label, dimensions: [("outcome", outcome.rawValue)])
          counter.increment(by: 0)
          return (outcome, counter)
        })
    }
    exports = counters("campanile_sync_exports_total", ExportOutcome.self)
    wakes = counters("campanile_sync_wakes_total", WakeOutcome.self)
    let files = [("BucketsData", "buckets.json"), ("NotificationsData", "notifications.json")]
    sizes = Dictionary(
      uniqueKeysWithValues: files.map { type, name in
        (type, Recorder(label: "campanile_sync_file_bytes", dimensions: [("file", name)], aggregate: true))
      })
  }

  func record(_ event: SyncEvent) {
    switch event {
    case .export(let outcome): exports[outcome]?.increment()
    case .wake(let outcome): wakes[outcome]?.increment()
    case .file(let recordType, let sizeBytes): sizes[recordType]?.record(sizeBytes)
    }
  }
}
