public import CampanileAPI
import CampanileBase
public import CampanileRPC
import CampanileService
import CampanileStore

/// A receiver of delivery results; in production, `campanile-notifications`.
public protocol DeliveryReporting: Sendable {
  func record(_ deliveries: RecordDeliveriesRequest) async throws
}

/// Sends delivery results over Campanile RPC.
public struct DeliveryReporter: DeliveryReporting {
  private let client: DeliveryServiceClient

  /// Creates a reporter whose `caller` presents the internal token.
  public init(_ caller: any RPCCaller) { client = DeliveryServiceClient(caller) }

  public func record(_ deliveries: RecordDeliveriesRequest) async throws {
    _ = try await client.recordDeliveries(
      deliveries, options: .from(service: "activities", scope: "notifications:operate", timeoutMs: 10_000))
  }
}

/// Reports the results of pushes to Notifications, at least once; the receiver deduplicates.
struct AlertReporter: Sendable {
  static let batchMax = 500

  let store: Store
  let reporter: any DeliveryReporting
  /// Signalled after every commit.
  let signal: WakeSignal
  /// Logs failures to report.
  var log: @Sendable (String) -> Void = { _ in }

  /// Runs until the task is cancelled.
  func run() async {
    await FeedLoop.run(signal: signal, log: { log("reporting deliveries \($0)") }) { try await step() }
  }

  /// Sends the oldest reports and returns their number.
  func step() async throws -> Int {
    let entries = try await store.readSingle {
      try $0.query(AlertReports.settledSQL, [.int(Self.batchMax)], rowsMax: Self.batchMax, AlertReports.entry)
    }
    if entries.isEmpty { return 0 }
    let request = RecordDeliveriesRequest(deliveries: entries.map(\.delivery))
    try await reporter.record(request)
    try await store.write { transaction in
      for entry in entries {
        try transaction.execute(AlertReports.deleteSQL, [.text(entry.apnsID), .integer(entry.settledAtMs)])
      }
    }
    return entries.count
  }
}
