import CampanileRPC
import Logging

extension CommonSettings {
  /// The server's configuration from the common settings.
  static func serverConfiguration(
    _ settings: Settings, agent: String, tls: ServerTLSContext?, logger: Logger
  ) throws(ConfigurationError) -> ServerConfiguration {
    var configuration = ServerConfiguration(
      host: try settings.string(host), port: try settings.int(port), logger: logger)
    configuration.agent = agent
    configuration.connectionsMax = try settings.int(maxConnections)
    configuration.limits.frameBytesMax = try settings.int(maxFrameBytes)
    configuration.limits.executingCallsMax = try settings.int(maxConcurrentCalls)
    configuration.limits.executingCallsMaxTrusted = max(
      configuration.limits.executingCallsMaxTrusted, configuration.limits.executingCallsMax)
    configuration.tls = tls
    return configuration
  }

  /// The files of TLS; `nil` where it is off.
  ///
  /// Throws `ConfigurationError` `conflictingSettings` when only one of certificate and key is given, or a client CA
  /// without them.
  static func serverTLS(_ settings: Settings) throws(ConfigurationError) -> ServerTLS? {
    let certificate = try settings.optionalString(tlsCertFile)
    let key = try settings.optionalString(tlsKeyFile)
    let clientCA = try settings.optionalString(tlsClientCAFile)
    guard let certificate, let key else {
      guard certificate == nil, key == nil, clientCA == nil else {
        throw ConfigurationError(
          code: .conflictingSettings, key: certificate == nil ? tlsCertFile : tlsKeyFile,
          message: "TLS needs both --\(tlsCertFile) and --\(tlsKeyFile)")
      }
      return nil
    }
    return ServerTLS(
      certificateChainFile: certificate, privateKeyFile: key, clientCertificateAuthoritiesFile: clientCA)
  }

  /// The port of `/metrics`: nil when HTTP is switched off, 0 when the system is to pick one.
  static func resolvedHTTPPort(_ settings: Settings) throws(ConfigurationError) -> Int? {
    guard try settings.bool(httpEnabled) else { return nil }
    let configured = try settings.int(httpPort)
    let rpc = try settings.int(port)
    guard configured == 0, rpc != 0 else { return configured }
    guard rpc + 100 <= 65_535 else {
      throw ConfigurationError(
        code: .invalidValue, key: httpPort,
        message: "\(httpPort) would be \(rpc + 100), beyond 65535: give --\(httpPort) a port or --\(httpEnabled)=false")
    }
    return rpc + 100
  }
}
