import CampanileBase
internal import CampanileRPC

/// The conditions under which a server may listen beyond loopback.
public enum ListenPolicy: Sendable, Hashable {
  /// Requires one of these settings. Without a credential, anyone on the network could act as any principal.
  case credentialRequired(anyOf: [String])
  /// Always allowed, because the service authenticates each caller itself.
  case serviceAuthenticates

  /// Requires the internal token or mutual TLS.
  public static let standard = ListenPolicy.credentialRequired(
    anyOf: [CommonConfiguration.internalToken, CommonConfiguration.tlsClientCAFile])

  /// Checks the configured host.
  ///
  /// - Throws: `ConfigurationError` `credentialMissing`, with the remedy.
  func check(_ settings: Settings) throws(ConfigurationError) {
    let host = try settings.string(CommonConfiguration.host)
    guard case .credentialRequired(let keys) = self, !HostPort.isLoopback(host) else { return }
    guard !keys.contains(where: settings.isSet) else { return }
    let ways = keys.map { key in
      settings.entries[key]?.setting.isSecret == true ? "--\(key)-file FILE" : "--\(key) …"
    }
    throw ConfigurationError(
      code: .credentialMissing, key: CommonConfiguration.host,
      message: "refusing to listen on \(host.singleLine) without a credential: give \(ways.joined(separator: " or ")), "
        + "or listen on 127.0.0.1")
  }

  /// Refuses to listen beyond loopback in plaintext, where keys and tokens could be intercepted.
  ///
  /// - Throws: `ConfigurationError` `encryptionMissing`, with the settings that enable TLS or allow plaintext.
  static func checkEncryption(_ settings: Settings) throws(ConfigurationError) {
    let host = try settings.string(CommonConfiguration.host)
    // An incomplete TLS configuration has a separate error.
    let files = [CommonConfiguration.tlsCertFile, CommonConfiguration.tlsKeyFile, CommonConfiguration.tlsClientCAFile]
    guard !HostPort.isLoopback(host), !files.contains(where: settings.isSet),
      try !settings.bool(CommonConfiguration.insecurePlaintext)
    else { return }
    let plaintextName = settings.entries[CommonConfiguration.insecurePlaintext]?.setting.environmentName ?? ""
    throw ConfigurationError(
      code: .encryptionMissing, key: CommonConfiguration.host,
      message:
        "refusing to listen on \(host.singleLine) in plaintext: give --\(CommonConfiguration.tlsCertFile) FILE and "
        + "--\(CommonConfiguration.tlsKeyFile) FILE, or --\(CommonConfiguration.insecurePlaintext) "
        + "(\(plaintextName)=true) where a proxy encrypts or the network is private, or listen on 127.0.0.1"
    )
  }
}
