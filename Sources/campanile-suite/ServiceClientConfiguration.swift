import CampanileBase
import CampanileRPC
import CampanileServer

/// The TLS settings for connections to other services of the suite.
enum ServiceClientConfiguration {
  static let caFile = "backend-tls-ca-file"
  static let certFile = "backend-tls-cert-file"
  static let keyFile = "backend-tls-key-file"
  static let serverName = "backend-tls-server-name"

  static let all: [Setting] = [
    .path(caFile, help: "CA certificates (PEM) for the services; enables TLS for connections to services"),
    .path(certFile, help: "client certificate chain (PEM) for mutual TLS to services"),
    .path(keyFile, isPrivate: true, help: "private key (PEM) of that certificate"),
    .string(
      serverName,
      help: "name in the services' certificates, unless they contain the address (default: the HOST of each)"),
  ]

  /// Returns the TLS configuration; nil without a CA.
  ///
  /// - Throws: `ConfigurationError` `conflictingSettings` if other settings are given without a CA, or only one of
  ///   certificate and key.
  static func tls(_ settings: Settings) throws(ConfigurationError) -> ClientTLS? {
    let tls = ClientTLS(
      trustRootsPath: try settings.optionalString(caFile), certificateChainPath: try settings.optionalString(certFile),
      privateKeyPath: try settings.optionalString(keyFile), serverName: try settings.optionalString(serverName))
    guard (tls.certificateChainPath == nil) == (tls.privateKeyPath == nil) else {
      throw ConfigurationError(
        code: .conflictingSettings, key: tls.privateKeyPath == nil ? keyFile : certFile,
        message: "mutual TLS to services needs both --\(certFile) and --\(keyFile)")
    }
    if tls.trustRootsPath != nil { return tls }
    guard tls.certificateChainPath == nil, tls.serverName == nil else {
      throw ConfigurationError(
        code: .conflictingSettings, key: caFile, message: "TLS to services needs --\(caFile)")
    }
    return nil
  }

  /// Creates a client of another service, which authenticates with the internal token.
  ///
  /// - Parameter address: The key of the setting with the service's `HOST:PORT`, or several, separated by commas.
  /// - Returns: The client, which balances its calls over them; nil if the setting is empty.
  /// - Throws: `ConfigurationError` for an invalid address.
  static func client(_ address: String, _ settings: Settings) throws -> RPCClient? {
    let text = try settings.string(address)
    if text.isEmpty { return nil }
    let targets = try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
      guard let target = HostPort(part) else {
        throw ConfigurationError(
          code: .invalidValue, key: address, message: "\(part.debugDescription) is not HOST:PORT")
      }
      return target
    }
    var configuration = ClientConfiguration(addresses: targets, tls: try tls(settings))
    configuration.internalToken = try settings.secret(CommonConfiguration.internalToken).map {
      InternalTokenAuthenticator.presented($0.reveal())
    }
    return try RPCClient(configuration)
  }
}
