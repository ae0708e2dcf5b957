import CampanileRPC
import Logging

extension CommonConfiguration {
  /// Creates the server's configuration from the common settings.
  static func serverConfiguration(
    _ settings: Settings, agent: String, tls: ServerTLSContext?, logger: Logger
  ) throws(ConfigurationError) -> ServerConfiguration {
    var configuration = ServerConfiguration(
      host: try settings.string(host), port: try settings.int(port), logger: logger)
    configuration.agent = agent
    configuration.connectionsMax = try settings.int(maxConnections)
    configuration.connectionsPerAddressMax = try settings.int(maxConnectionsPerAddress)
    configuration.limits.frameBytesMax = try settings.int(maxFrameBytes)
    configuration.limits.executingCallsMax = try settings.int(maxConcurrentCalls)
    configuration.limits.executingCallsMaxTrusted = max(
      configuration.limits.executingCallsMaxTrusted, configuration.limits.executingCallsMax)
    configuration.tls = tls
    return configuration
  }

  /// The keys of the settings with paths of TLS files.
  static let tlsFiles = [tlsCertFile, tlsKeyFile, tlsClientCAFile, tlsClientCRLFile]

  /// Returns the TLS configuration; nil if TLS is disabled.
  ///
  /// - Throws: `ConfigurationError` `conflictingSettings` if only one of certificate and key is given, a client CA
  ///   without them, or revocation lists without a client CA.
  static func serverTLS(_ settings: Settings) throws(ConfigurationError) -> ServerTLS? {
    let certificate = try settings.optionalString(tlsCertFile)
    let key = try settings.optionalString(tlsKeyFile)
    let clientCA = try settings.optionalString(tlsClientCAFile)
    let revocationList = try settings.optionalString(tlsClientCRLFile)
    guard clientCA != nil || revocationList == nil else {
      throw ConfigurationError(
        code: .conflictingSettings, key: tlsClientCRLFile,
        message: "--\(tlsClientCRLFile) needs --\(tlsClientCAFile), the issuer of the revocation lists")
    }
    guard let certificate, let key else {
      guard certificate == nil, key == nil, clientCA == nil else {
        throw ConfigurationError(
          code: .conflictingSettings, key: certificate == nil ? tlsCertFile : tlsKeyFile,
          message: "TLS needs both --\(tlsCertFile) and --\(tlsKeyFile)")
      }
      return nil
    }
    return ServerTLS(
      certificateChainFile: certificate, privateKeyFile: key, clientCertificateAuthoritiesFile: clientCA,
      clientRevocationListFile: revocationList)
  }

  /// Returns the HTTP port: nil if HTTP is disabled, 0 if the system must choose one.
  static func resolvedHTTPPort(_ settings: Settings) throws(ConfigurationError) -> Int? {
    guard try settings.bool(httpEnabled) else { return nil }
    let configured = try settings.int(httpPort)
    let rpc = try settings.int(port)
    guard configured == 0, rpc != 0 else { return configured }
    guard rpc + 100 <= 65_535 else {
      throw ConfigurationError(
        code: .invalidValue, key: httpPort,
        message: "\(httpPort) would be \(rpc + 100), beyond 65535: set --\(httpPort), or give --\(httpEnabled)=false")
    }
    return rpc + 100
  }
}
