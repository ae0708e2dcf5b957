/// The APNs servers that the suite pushes to, by environment.
public struct APNsServers: Sendable, Hashable {
  /// The environments that clients may name without any configuration.
  static let environments = ["development", "sandbox", "production"]

  /// `HOST:PORT` by environment.
  public var endpoints: [String: String]
  /// PEM of what they are trusted by; nil trusts what the system trusts.
  public var trustFile: String?

  public init(endpoints: [String: String], trustFile: String?) {
    self.endpoints = endpoints
    self.trustFile = trustFile
  }

  /// Servers given as `ENVIRONMENT=HOST:PORT`, several joined by commas or in several texts. Environments that are not named
  /// go where the first goes: nothing of a development suite is to reach Apple by accident.
  ///
  /// Throws `UsageError` for a text of another form.
  public init(_ texts: [String], trustFile: String?) throws(UsageError) {
    var endpoints: [String: String] = [:]
    var first: String?
    for text in texts.flatMap({ $0.split(separator: ",", omittingEmptySubsequences: false) }) {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, !parts[0].isEmpty, let colon = parts[1].lastIndex(of: ":"), colon != parts[1].startIndex,
        let port = Int(parts[1][parts[1].index(after: colon)...]), (1...65_535).contains(port)
      else { throw UsageError("--apns-endpoint must be ENVIRONMENT=HOST:PORT, not \(text)") }
      endpoints[parts[0]] = parts[1]
      first = first ?? parts[1]
    }
    guard let first else { throw UsageError("--apns-endpoint names no server") }
    for environment in Self.environments where endpoints[environment] == nil { endpoints[environment] = first }
    self.init(endpoints: endpoints, trustFile: trustFile)
  }

  /// As the service takes it.
  var list: String { endpoints.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ",") }
}
