public import CampanileAPI
public import CampanileRPC
import CampanileService

/// The service that reaches devices: `campanile-activities`.
public protocol DevicePushing: Sendable {
  func put(_ summary: PutUnreadSummaryRequest) async throws -> PutUnreadSummaryResponse
  func send(_ alert: SendAlertRequest) async throws -> SendAlertResponse
}

/// Reaches it over the suite's own wire.
public struct DevicePusher: DevicePushing {
  private let client: UnreadServiceClient
  /// Both calls may be repeated, so that one which hangs is given up soon.
  private let options = CallOptions.from(service: "notifications", timeoutMs: 10_000)

  /// `caller` presents the internal token.
  public init(_ caller: any RPCCaller) { client = UnreadServiceClient(caller) }

  public func put(_ summary: PutUnreadSummaryRequest) async throws -> PutUnreadSummaryResponse {
    try await client.putUnreadSummary(summary, options: options)
  }

  public func send(_ alert: SendAlertRequest) async throws -> SendAlertResponse {
    try await client.sendAlert(alert, options: options)
  }
}
