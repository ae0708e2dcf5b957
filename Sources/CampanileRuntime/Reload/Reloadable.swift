import CampanileRPC
import Logging

/// A part of an executable that takes up new settings while it runs.
public struct Reloadable: Sendable {
  /// The settings that it takes up. A change of any other one needs a restart.
  public var keys: Set<String>
  /// Checks new settings without changing anything, and answers what puts them in force, which cannot fail. Called at every reload,
  /// also when none of its settings has changed: files that they name may have.
  public var prepare: @Sendable (Settings) throws -> @Sendable () -> Void

  public init(keys: Set<String>, prepare: @escaping @Sendable (Settings) throws -> @Sendable () -> Void) {
    self.keys = keys
    self.prepare = prepare
  }

  /// The log level. What the operator has set since stays, unless the configured one changes.
  static func logLevel(_ levels: SharedLogLevel) -> Reloadable {
    Reloadable(keys: [CommonSettings.logLevel]) { settings in
      let level = Logger.Level(rawValue: try settings.string(CommonSettings.logLevel)) ?? .info
      return { levels.configure(level) }
    }
  }

  /// The certificates of what listens.
  static func certificates(_ tls: ServerTLSContext?) -> Reloadable {
    let keys = [CommonSettings.tlsCertFile, CommonSettings.tlsKeyFile, CommonSettings.tlsClientCAFile]
    return Reloadable(keys: Set(keys)) { settings in
      let files = try CommonSettings.serverTLS(settings)
      guard (files == nil) == (tls == nil),
        (files?.clientCertificateAuthoritiesFile != nil) == (tls?.asksForCertificates ?? false)
      else {
        throw ConfigurationError(
          code: .needsRestart, key: CommonSettings.tlsCertFile,
          message: "TLS and client certificates are turned on and off by a restart alone")
      }
      guard let tls, let files else { return {} }
      return try files.explained { try tls.prepare(files) }
    }
  }
}

extension ServerTLS {
  /// Runs what reads the files, and names them where that fails. Throws `StartupError`.
  func explained<Result>(_ body: () throws -> Result) throws(StartupError) -> Result {
    do { return try body() } catch {
      throw StartupError("cannot use the certificate \(certificateChainFile) with the key \(privateKeyFile): \(error)")
    }
  }
}
