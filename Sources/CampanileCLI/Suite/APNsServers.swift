import CampanileBase

/// The APNs servers that the suite sends pushes to, by environment.
public struct APNsServers: Sendable, Hashable {
  /// The environments that clients may use without configuration.
  static let environments = ["development", "sandbox", "production"]

  /// `HOST:PORT` by environment.
  public var endpoints: [String: String]
  /// CA certificates (PEM) for the servers; nil for the system's.
  public var trustFile: String?

  public init(endpoints: [String: String], trustFile: String?) {
    self.endpoints = endpoints
    self.trustFile = trustFile
  }

  /// Parses servers in the form `ENVIRONMENT=HOST:PORT`.
  ///
  /// Environments without a server use the first one, so that no push of a development suite reaches Apple by accident.
  ///
  /// - Parameter texts: One or more servers each, separated by commas.
  /// - Throws: `UsageError` for any other form.
  public init(_ texts: [String], trustFile: String?) throws(UsageError) {
    var endpoints: [String: String] = [:]
    var first: String?
    for text in texts.flatMap({ $0.split(separator: ",", omittingEmptySubsequences: false) }) {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, !parts[0].isEmpty, HostPort(parts[1]) != nil else {
        throw UsageError("--apns-endpoint must be ENVIRONMENT=HOST:PORT, not \(text)")
      }
      endpoints[parts[0]] = parts[1]
      first = first ?? parts[1]
    }
    guard let first else { throw UsageError("--apns-endpoint names no server") }
    for environment in Self.environments where endpoints[environment] == nil { endpoints[environment] = first }
    self.init(endpoints: endpoints, trustFile: trustFile)
  }

  /// The value of the service's `--apns-endpoint` flag.
  var list: String { endpoints.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",") }
}
