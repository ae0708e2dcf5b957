internal import CampanileRPC

/// When a server may listen beyond loopback.
public enum ListenPolicy: Sendable, Hashable {
  /// Only with one of these settings given: without a credential anyone on the network could act as anyone.
  case credentialRequired(anyOf: [String])
  /// Always: the service authenticates each caller itself, as the gateway does.
  case serviceAuthenticates

  /// The rule of the suite's services: the internal token, or mutual TLS.
  public static let standard = ListenPolicy.credentialRequired(
    anyOf: [CommonSettings.internalToken, CommonSettings.tlsClientCAFile])

  /// Checks the configured host. Throws `ConfigurationError` with the code `credentialMissing` and how to set one.
  public func check(_ settings: Settings) throws(ConfigurationError) {
    let host = try settings.string(CommonSettings.host)
    guard case .credentialRequired(let keys) = self, !ClientConfiguration.Address.isLoopback(host) else { return }
    guard !keys.contains(where: settings.isSet) else { return }
    let ways = keys.map { key in
      settings.entries[key]?.setting.isSecret == true ? "--\(key)-file FILE" : "--\(key) …"
    }
    throw ConfigurationError(
      code: .credentialMissing, key: CommonSettings.host,
      message: "refusing to listen on \(host.singleLine) without a credential: give \(ways.joined(separator: " or ")), "
        + "or listen on 127.0.0.1")
  }

  /// Refuses to listen beyond loopback in plaintext, where keys and tokens could be read on the way.
  ///
  /// Throws `ConfigurationError` with the code `encryptionMissing` and how to encrypt, or to say that it is meant.
  public static func checkEncryption(_ settings: Settings) throws(ConfigurationError) {
    let host = try settings.string(CommonSettings.host)
    // Half a configuration of TLS is told as that.
    let files = [CommonSettings.tlsCertFile, CommonSettings.tlsKeyFile, CommonSettings.tlsClientCAFile]
    guard !ClientConfiguration.Address.isLoopback(host), !files.contains(where: settings.isSet),
      try !settings.bool(CommonSettings.insecurePlaintext)
    else { return }
    throw ConfigurationError(
      code: .encryptionMissing, key: CommonSettings.host,
      message: "refusing to listen on \(host.singleLine) in plaintext: give --\(CommonSettings.tlsCertFile) FILE and "
        + "--\(CommonSettings.tlsKeyFile) FILE, or --\(CommonSettings.insecurePlaintext) "
        + "(CAMPANILE_INSECURE_PLAINTEXT=true) where a proxy encrypts or the network is private, or listen on 127.0.0.1"
    )
  }
}
