import CampanileBase
import CampanileRPC

/// The settings of executables with an admin port.
public enum OperatorConfiguration {
  public static let enabled = "admin-enabled"
  public static let port = "admin-port"
  public static let metrics = "metrics-address"

  public static let all: [Setting] = [
    .bool(
      enabled, default: true,
      help: "serve /metrics and the data of `campanile top` on the admin port, on 127.0.0.1"),
    .int(port, default: 0, in: 0...65_535, help: "admin port; 0 is the RPC port + 200, or a free port"),
    .string(
      metrics,
      help:
        "additional HOST:PORT that serves /metrics, /healthz and /readyz in plaintext, for a private network"
    ),
  ]

  /// Returns the admin port and whether it is fixed; nil if there is no admin port.
  static func resolvedPort(_ settings: Settings) throws(ConfigurationError) -> (port: Int, isFixed: Bool)? {
    guard settings.isSet(enabled), try settings.bool(enabled) else { return nil }
    let configured = try settings.int(port)
    let rpc = try settings.int(CommonConfiguration.port)
    if configured != 0 || rpc == 0 { return (configured, true) }
    return (rpc + 200 <= 65_535 ? rpc + 200 : 0, false)
  }

  /// Returns the address of the additional metrics server; nil if there is none.
  ///
  /// - Throws: `ConfigurationError` `invalidValue` for an invalid address.
  static func metricsAddress(_ settings: Settings) throws(ConfigurationError) -> HostPort? {
    guard settings.isSet(metrics), let text = try settings.optionalString(metrics), !text.isEmpty else { return nil }
    guard let address = HostPort(text) else {
      throw ConfigurationError(
        code: .invalidValue, key: metrics, message: "\(metrics): \(text.debugDescription) is not HOST:PORT")
    }
    return address
  }
}
