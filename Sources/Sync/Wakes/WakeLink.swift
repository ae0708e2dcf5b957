public import CampanileAPI
public import CampanileRPC
import CampanileService

/// The push service: `campanile-activities`.
public protocol DeviceWaking: Sendable {
  func wake(_ push: SendAlertRequest) async throws -> SendAlertResponse
}

/// Calls the push service over the suite's wire protocol.
public struct WakeLink: DeviceWaking {
  private let client: UnreadServiceClient
  /// The call can be repeated safely, so a short time limit suffices.
  private let options = CallOptions.from(service: "campanile-sync", scope: "activities:operate", timeoutMs: 10_000)

  /// Creates a link. `caller` must present the internal token.
  public init(_ caller: any RPCCaller) { client = UnreadServiceClient(caller) }

  public func wake(_ push: SendAlertRequest) async throws -> SendAlertResponse {
    try await client.sendAlert(push, options: options)
  }
}
