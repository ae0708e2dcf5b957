public import CampanileAPI
public import CampanileRPC
import CampanileService

/// The push service: `campanile-activities`.
public protocol DevicePushing: Sendable {
  func put(_ summary: PutUnreadSummaryRequest) async throws -> PutUnreadSummaryResponse
  func send(_ alert: SendAlertRequest) async throws -> SendAlertResponse
}

/// Calls the push service over the suite's own wire protocol.
public struct DevicePusher: DevicePushing {
  private let client: UnreadServiceClient
  /// Both calls can be repeated safely, so a short time limit suffices.
  private let options = CallOptions.from(service: "notifications", scope: "activities:operate", timeoutMs: 10_000)

  /// - Parameter caller: Sends the internal token with each call.
  public init(_ caller: any RPCCaller) { client = UnreadServiceClient(caller) }

  public func put(_ summary: PutUnreadSummaryRequest) async throws -> PutUnreadSummaryResponse {
    try await client.putUnreadSummary(summary, options: options)
  }

  public func send(_ alert: SendAlertRequest) async throws -> SendAlertResponse {
    try await client.sendAlert(alert, options: options)
  }
}
