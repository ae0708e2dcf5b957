import CampanileBase
import CampanileRPC
import CampanileServer
import Gateway

extension GatewayProgramConfiguration {
  /// Returns the path of the console; nil if it is not served.
  static func servedConsolePath(_ settings: Settings) throws -> String? {
    let path = try settings.string(consolePath)
    guard path.wholeMatch(of: /\/[A-Za-z0-9_-]{1,64}/) != nil else {
      throw invalid(consolePath, "must be / and one segment of A-Z a-z 0-9 _ -")
    }
    guard !["/sdk", "/healthz", "/readyz"].contains(path) else { throw invalid(consolePath, "is in use") }
    let isOn = try settings.bool(console)
    if try settings.bool(noConsole) {
      guard !isOn else { throw invalid(noConsole, "contradicts --\(console)") }
      return nil
    }
    guard try settings.bool(CommonConfiguration.httpEnabled) else { return nil }
    return try isOn || HostPort.isLoopback(settings.string(CommonConfiguration.host)) ? path : nil
  }

  /// Returns the console's registration at the issuer; nil if there is none.
  static func issuerSignIn(_ settings: Settings, issuer: String?) throws -> IssuerConfiguration? {
    let url = try settings.optionalString(consoleURL)
    guard let id = try settings.optionalString(consoleClientID) else {
      guard url == nil else { throw invalid(consoleURL, "needs --\(consoleClientID)") }
      return nil
    }
    guard let issuer else { throw invalid(consoleClientID, "needs --\(jwtIssuer)") }
    guard IssuerConfiguration.isSafe(url: issuer) else {
      throw invalid(jwtIssuer, "must be an https URL for --\(consoleClientID)")
    }
    guard let url, IssuerConfiguration.isSafe(url: url), !url.hasSuffix("/"), !url.contains("?") else {
      throw invalid(consoleURL, "must be the https URL of the console, without a trailing slash")
    }
    var configuration = IssuerConfiguration(clientID: id, consoleURL: url)
    configuration.clientSecret = try settings.secret(consoleClientSecret)?.reveal()
    configuration.scopes = try settings.list(consoleIssuerScopes)
    return configuration
  }
}
