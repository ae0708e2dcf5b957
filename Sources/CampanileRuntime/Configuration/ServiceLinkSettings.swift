public import CampanileRPC

/// The settings of executables that call other services of the suite: how they reach them over TLS.
public enum ServiceLinkSettings {
  public static let caFile = "backend-tls-ca-file"
  public static let certFile = "backend-tls-cert-file"
  public static let keyFile = "backend-tls-key-file"
  public static let serverName = "backend-tls-server-name"

  public static let all: [Setting] = [
    .path(caFile, help: "CA in PEM that the services' certificates must come from; turns TLS to the services on"),
    .path(certFile, help: "certificate chain in PEM that the services are shown, for mutual TLS"),
    .path(keyFile, isPrivate: true, help: "private key of that certificate in PEM"),
    .string(
      serverName,
      help: "name that the services' certificates must have unless they have the address; by default the HOST of each"),
  ]

  /// Nil without a CA. Throws `ConfigurationError` `conflictingSettings` for the other settings without a CA, and for only
  /// one of certificate and key.
  public static func tls(_ settings: Settings) throws(ConfigurationError) -> ClientTLS? {
    let tls = ClientTLS(
      trustRootsPath: try settings.optionalString(caFile), certificateChainPath: try settings.optionalString(certFile),
      privateKeyPath: try settings.optionalString(keyFile), serverName: try settings.optionalString(serverName))
    guard (tls.certificateChainPath == nil) == (tls.privateKeyPath == nil) else {
      throw ConfigurationError(
        code: .conflictingSettings, key: tls.privateKeyPath == nil ? keyFile : certFile,
        message: "mutual TLS to the services needs both --\(certFile) and --\(keyFile)")
    }
    if tls.trustRootsPath != nil { return tls }
    guard tls.certificateChainPath == nil, tls.serverName == nil else {
      throw ConfigurationError(
        code: .conflictingSettings, key: caFile, message: "TLS to the services needs --\(caFile)")
    }
    return nil
  }

  /// A client of the service at `HOST:PORT` that presents the internal token; nil where the setting `address` is empty.
  /// Throws `ConfigurationError` for what is no address.
  public static func client(_ address: String, _ settings: Settings) throws -> RPCClient? {
    let text = try settings.string(address)
    if text.isEmpty { return nil }
    guard let target = ClientConfiguration.Address(text) else {
      throw ConfigurationError(code: .invalidValue, key: address, message: "\(text.debugDescription) is not HOST:PORT")
    }
    let token = try settings.secret(CommonSettings.internalToken).map {
      InternalTokenAuthenticator.presented($0.reveal())
    }
    return try RPCClient(ClientConfiguration(addresses: [target], token: token, tls: try tls(settings)))
  }
}
