public import CampanileAPI
public import CampanileRPC
import CampanileService
import CampanileStore

/// Takes what became of pushes: `campanile-notifications`.
public protocol DeliveryReporting: Sendable {
  func record(_ deliveries: RecordDeliveriesRequest) async throws
}

/// Reaches it over the suite's own wire.
public struct DeliveryReporter: DeliveryReporting {
  private let client: DeliveryServiceClient

  /// `caller` presents the internal token.
  public init(_ caller: any RPCCaller) { client = DeliveryServiceClient(caller) }

  public func record(_ deliveries: RecordDeliveriesRequest) async throws {
    _ = try await client.recordDeliveries(deliveries, options: .from(service: "activities", timeoutMs: 10_000))
  }
}

/// Tells Notifications what became of its pushes, at least once; the receiver keeps each report once.
struct AlertReporter: Sendable {
  static let batchMax = 500

  let store: Store
  let reporter: any DeliveryReporting
  /// Rung by every commit.
  let bell: WatchBell
  /// Told when nothing can be reported.
  var log: @Sendable (String) -> Void = { _ in }

  /// Runs until the task is cancelled.
  func run() async {
    await FeedLoop.run(bell: bell, log: { log("reporting deliveries \($0)") }) { try await step() }
  }

  /// Tells the oldest reports and returns how many.
  func step() async throws -> Int {
    let entries = try store.readSingle {
      try $0.query(AlertReports.settledSQL, [.int(Self.batchMax)], rowsMax: Self.batchMax, AlertReports.entry)
    }
    if entries.isEmpty { return 0 }
    var request = RecordDeliveriesRequest()
    request.deliveries = entries.map(\.delivery)
    try await reporter.record(request)
    try await store.write { transaction in
      for entry in entries {
        try transaction.execute(AlertReports.deleteSQL, [.text(entry.apnsID), .integer(entry.settledAtMs)])
      }
    }
    return entries.count
  }
}
