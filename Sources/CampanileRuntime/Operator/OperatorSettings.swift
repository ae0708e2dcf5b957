/// The settings of executables that have a surface for their operator.
public enum OperatorSettings {
  public static let enabled = "admin-enabled"
  public static let port = "admin-port"

  public static let all: [Setting] = [
    .bool(enabled, default: true, help: "serve the operator's surface on 127.0.0.1, which `campanile top` reads"),
    .int(port, default: 0, in: 0...65_535, help: "its port; 0 is the RPC port + 200, or one that is free"),
  ]

  /// The port to listen on, and whether another will do; nil where there is no such surface.
  static func resolvedPort(_ settings: Settings) throws(ConfigurationError) -> (port: Int, isFixed: Bool)? {
    guard settings.isSet(enabled), try settings.bool(enabled) else { return nil }
    let configured = try settings.int(port)
    let rpc = try settings.int(CommonSettings.port)
    if configured != 0 || rpc == 0 { return (configured, true) }
    return (rpc + 200 <= 65_535 ? rpc + 200 : 0, false)
  }
}
