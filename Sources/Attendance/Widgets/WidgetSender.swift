import CampanileAPI
public import CampanileRPC
import CampanileService

/// The push service: `campanile-activities`.
public protocol WidgetReloading: Sendable {
  /// Reloads the widgets of a user's devices, once for each request id.
  func reloadWidgets(of user: String, requestID: String) async throws
}

/// Calls the push service over the suite's wire protocol.
public struct WidgetSender: WidgetReloading {
  private let client: WidgetsServiceClient
  /// The call can be repeated safely, so a short time limit suffices.
  private let options = CallOptions.from(
    service: "campanile-attendance", scope: "activities:operate", timeoutMs: 10_000)

  /// - Parameter caller: Sends the internal token with each call.
  public init(_ caller: any RPCCaller) { client = WidgetsServiceClient(caller) }

  public func reloadWidgets(of user: String, requestID: String) async throws {
    _ = try await client.reloadWidgets(
      .init(userId: user, kind: .widgets, requestId: requestID), options: options)
  }
}
